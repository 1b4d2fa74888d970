package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
)

func newList(env Env) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the components of the project",
		Long: `List the components of the project: kind, name, place and description, and what the list of
tools costs a model that reads it. Generators that the project came with are left out; generate
--help has all of them. It ends with 1 if a package could not be read.`,
		Example:           examples(env, "list", "list --json"),
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			refused := false
			err := work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Listing, error) {
				listing, err := e.List(ctx)
				refused = err == nil && len(listing.Refused) > 0
				return listing, err
			}, printListing)
			if err == nil && refused {
				err = &terminal.SaidError{Err: errors.New("not all packages could be read")}
			}
			return err
		},
	}
	c.flags(cmd, false)
	return cmd
}

func printListing(env Env, l *engine.Listing) error {
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, c := range l.Components {
		about, _, _ := strings.Cut(c.Description, "\n")
		fmt.Fprintf(table, "%s\t%s\t%s:%d\t%s\n", c.Kind, c.Name, c.File, c.Line, about)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range l.Refused {
		fmt.Fprintln(env.Out, d)
	}
	_, err := fmt.Fprintln(env.Out, l.ToolsList)
	return err
}
