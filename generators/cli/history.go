package cli

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/engine"
)

func newHistory(env Env) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List what was done, the oldest first",
		Long: `List the operations of this clone of the project, the oldest first. What was done elsewhere
is in version control, not here.`,
		Example:           examples(env, "history", "history --json"),
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.History, error) {
				return e.History(ctx)
			}, printHistory)
		},
	}
	c.flags(cmd, false)
	return cmd
}

func printHistory(env Env, h *engine.History) error {
	if h.Recovered != "" {
		fmt.Fprintln(env.Err, h.Recovered)
	}
	if len(h.Operations) == 0 {
		_, err := fmt.Fprintln(env.Out, "Nothing has been done in this clone of the project.")
		return err
	}
	table := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	for _, op := range h.Operations {
		note := ""
		if op.UndoneBy != "" {
			note = "undone by " + op.UndoneBy
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", op.ID, op.Time.Local().Format(time.DateTime), op.Title, note)
	}
	return table.Flush()
}
