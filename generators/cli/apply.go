package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/engine"
)

func newApply(env Env) *cobra.Command {
	var c common
	var o engine.Options
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Write what a dry run of generate has shown",
		Long: `Write what a dry run of generate has shown, and nothing else. A dry run is kept as a plan, and tells
its id, which stands for what the plan was made from and what it would write: if the project has
changed since, apply refuses, and changes nothing. Examples that passed then are not run again.`,
		Example: examples(env, "generate tool search query --dry-run", "apply 5f0c2a9d1b7e4c33"),
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return work(cmd.Context(), env, &c, func(ctx context.Context, e *engine.Engine) (*engine.Result, error) {
				return e.Apply(ctx, args[0], o)
			}, printResult)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	c.flags(cmd, false)
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "run nothing: leave examples that have not been run to go test")
	return cmd
}
