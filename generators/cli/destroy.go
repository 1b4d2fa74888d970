package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/engine"
)

func newDestroy(env Env) *cobra.Command {
	var c common
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "destroy KIND NAME",
		Short: "Remove a component",
		Long: `Remove a component: its file and the test beside it, or the folder of a feature. Derived files
are derived again. Generators that the project came with stay.

What you have written into them is in the way, unless --force is given; either way, undo
brings all of it back.`,
		Example: examples(env, "destroy tool add", "destroy prompt review --dry-run", "destroy command posts/create"),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("it takes a kind and a name: destroy tool add")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.DryRun = c.dryRun
			return work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Destroy(ctx, args[0], args[1], o)
			}, printResult)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			switch len(args) {
			case 0:
				return engine.Kinds(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return names(cmd.Context(), env, &c, args[0]), cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Force, "force", false, "also what has been edited")
	return cmd
}

// names are those of the components of a kind.
func names(ctx context.Context, env Env, c *common, kind string) []string {
	e, err := c.open(env)
	if err != nil {
		return nil
	}
	defer e.Close()
	listing, err := e.List(ctx)
	if err != nil {
		return nil
	}
	var all []string
	for _, component := range listing.Components {
		if string(component.Kind) == kind {
			all = append(all, component.Name)
		}
	}
	return all
}
