package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/live"
)

// NewDev returns the command dev. Its flags are also those of [launch.Main]. serve runs it, such as
// [launch.ServeStdio].
func NewDev(env Env, serve func(ctx context.Context, o live.Options, out *os.File) error) *cobra.Command {
	var o live.Options
	cmd := &cobra.Command{
		Use:     "dev [-- ARGUMENT...]",
		Short:   "Run the project's server and petrock's tools, and reload after each change",
		Example: examples(env, "dev", "dev --no-petrock", "dev -- --data ./data"),
		Args: func(cmd *cobra.Command, args []string) error {
			if before := cmd.ArgsLenAtDash(); len(args) > 0 && before != 0 {
				return fmt.Errorf("unexpected argument %q; arguments of the server follow --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := launch.FindProject(env.Dir)
			if err != nil {
				return err
			}
			o.Root, o.Name, o.Args, o.Log = found.Root, found.Name, args, env.Err
			return serve(cmd.Context(), o, env.Out)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&o.NoPetrock, "no-petrock", false, "offer only the project's server, without petrock's tools")
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "petrock's tools run no code of the project; dev still runs its server")
	cmd.Flags().BoolVar(&o.NoNet, "no-net", false, noNetUsage)
	return projectCommands(env, cmd)[0]
}
