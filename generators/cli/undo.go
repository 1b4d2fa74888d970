package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/engine"
)

func newUndo(env Env) *cobra.Command {
	return newRevertCommand(env, (*engine.Engine).Undo, &cobra.Command{
		Use:   "undo [ID]",
		Short: "Undo an operation",
		Long: `Undo an operation: the last one, or the one with this id (see history). Undo restores all files of the
operation or none, and updates derived files.

Undo refuses if a file was edited after the operation, and shows the diff. It also refuses if a later
operation builds on this one. Directly after an undo, it needs an id. redo restores what an undo has
reverted.`,
		Example: examples(env, "undo", "undo 0003", "undo 0003 --dry-run", "undo --keep"),
	}, func(op engine.Operation) bool { return op.UndoneBy == "" })
}

func newRedo(env Env) *cobra.Command {
	return newRevertCommand(env, (*engine.Engine).Redo, &cobra.Command{
		Use:   "redo [ID]",
		Short: "Redo an operation that was undone",
		Long: `Redo an operation that was undone: the one that was undone last, or the one with this id (see history).
After several undos, several redos restore the operations in order.

If another operation followed the undo, redo needs an id. It refuses for the same reasons as undo. A redo
is an operation too; undo reverts it.`,
		Example: examples(env, "redo", "redo 0003", "redo --dry-run"),
	}, func(op engine.Operation) bool { return op.UndoneBy != "" && op.Undoes == "" })
}

// newRevertCommand completes the command undo or redo. isOffered selects the operations for completion.
func newRevertCommand(env Env, do func(*engine.Engine, context.Context, string, engine.Options) (*engine.Result, error), cmd *cobra.Command, isOffered func(engine.Operation) bool) *cobra.Command {
	var c projectFlags
	var o engine.Options
	cmd.Args = cobra.MaximumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		if o.Keep && o.Force {
			return terminal.Usagef("--keep and --force cannot be combined; pass one of them")
		}
		o.DryRun = c.dryRun
		return runInProject(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
			return do(e, ctx, id, o)
		}, printResult)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ids := complete(env, &c, func(e *engine.Engine) []string { return operationIDs(cmd.Context(), e, isOffered) })
		return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
	c.addFlags(cmd, true)
	cmd.Flags().BoolVar(&o.Keep, "keep", false, "leave edited files, and "+cmd.Name()+" the rest")
	cmd.Flags().BoolVar(&o.Force, "force", false, "also "+cmd.Name()+" edited files")
	return cmd
}

// operationIDs returns the ids of the offered operations, latest first, with their titles.
func operationIDs(ctx context.Context, e *engine.Engine, isOffered func(engine.Operation) bool) (ids []string) {
	history, err := e.History(ctx)
	if err != nil {
		return nil
	}
	for _, op := range slices.Backward(history.Operations) {
		if isOffered(op) {
			ids = append(ids, terminal.Line(op.ID)+"\t"+terminal.Line(op.Title))
		}
	}
	return ids
}
