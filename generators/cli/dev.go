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
		Use:   "dev [-- ARGUMENT...]",
		Short: "Run the project's server and petrock's tools, and reload after each change",
		Long: `Run the project's server together with petrock's tools, as one MCP server on standard input and
output, until the client closes the input. MCP clients start it: a project's client configurations name
this command.

dev offers the tools, resources and prompts of the project's server, and petrock's tools with the prefix
petrock_, such as petrock_generate_tool. After each change of a file it regenerates derived files, compiles
the server and replaces it. Calls that are running finish on the old server; four old servers are kept.
The client keeps its connection, and is notified of changed lists.

If the source does not compile, or its server does not start, the last good build runs with --read-only:
queries answer, commands are refused. Results of petrock's tools that write, and of
petrock_project_status, include the reason. If the server crashes, dev restarts it.

On the first start, dev answers while it still compiles. Calls wait until the server is built.

Arguments after -- are passed to the server's command mcp.`,
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
	return handsOver(env, cmd)[0]
}
