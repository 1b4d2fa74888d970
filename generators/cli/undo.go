package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/engine"
)

func newUndo(env Env) *cobra.Command {
	var c common
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "undo [ID]",
		Short: "Take an operation back",
		Long: `Take an operation back: the last one, or the one with this id (see history). Its files become
what they were before it, and derived files are derived again; all of that or nothing.

A file that was edited since is in the way, and the differences are shown; so is a later
operation that builds on this one. An undo is an operation too, and can be undone by its id.`,
		Example: examples(env, "undo", "undo 0003", "undo 0003 --dry-run", "undo --keep"),
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id := ""
			if len(args) > 0 {
				id = args[0]
			}
			o.DryRun = c.dryRun
			return work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Undo(ctx, id, o)
			}, printResult)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return operations(cmd.Context(), env, &c), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		},
	}
	c.flags(cmd, true)
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "leave files that were edited since, and undo the rest")
	cmd.Flags().BoolVar(&o.Force, "force", false, "take back files that were edited since, too")
	return cmd
}

// operations are the ids of those that can be undone, the latest first, each with its title.
func operations(ctx context.Context, env Env, c *common) []string {
	e, err := c.open(env)
	if err != nil {
		return nil
	}
	defer e.Close()
	history, err := e.History(ctx)
	if err != nil {
		return nil
	}
	var ids []string
	for _, entry := range slices.Backward(history.Operations) {
		if entry.UndoneBy == "" {
			ids = append(ids, entry.ID+"\t"+entry.Title)
		}
	}
	return ids
}
