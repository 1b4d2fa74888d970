package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/live"
	"github.com/petrock/petrock/generators/live/livehttp"
)

// NewDev returns the command dev. Its flags without --http are also those of [launch.Main].
func NewDev(env Env) *cobra.Command {
	var o live.Options
	addr := ""
	cmd := &cobra.Command{
		Use:   "dev [-- ARGUMENT...]",
		Short: "Run the project's server and petrock's tools, and reload after each change",
		Long: `Run the project's server together with petrock's tools, as one MCP server on standard input and
output, until the client closes the input. MCP clients start it: a project's client configurations name
this command.

dev offers the tools, resources and prompts of the project's server, and petrock's tools with the prefix
petrock_, such as petrock_generate_tool. After each change of a file it derives files again, compiles the
server and replaces it. Calls that are running finish on the old server. The client keeps its connection,
and is notified that the lists have changed.

If the source does not compile, or its server does not start, the last good build runs with --read-only:
queries answer, commands are refused. Results of petrock's tools say so, with the reason. If the server
crashes, dev starts it again.

On the first start, dev answers while it still compiles. Calls wait until the server is built.

With --http, dev serves streamable HTTP at /mcp until SIGINT or SIGTERM, to any number of clients on this
machine. An address without a host, such as :8181, means 127.0.0.1:8181; addresses that other machines
can connect to are refused. Clients must send the token that dev prints, as Authorization: Bearer TOKEN,
because petrock's tools run code. Set ` + livehttp.TokenVariable + ` to use the same token at each start.

Arguments after -- are passed to the server's command mcp.`,
		Example: examples(env, "dev", "dev --no-petrock", "dev --http :8181", "dev -- --data ./data"),
		Args: func(cmd *cobra.Command, args []string) error {
			if before := cmd.ArgsLenAtDash(); len(args) > 0 && before != 0 {
				return fmt.Errorf("unexpected argument %q; arguments of the server follow --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := project.Find(env.Dir)
			if errors.Is(err, project.ErrNone) {
				err = fmt.Errorf("%w; change to a project's folder, or run petrock new", err)
			}
			if err != nil {
				return err
			}
			o.Root, o.Name, o.Args, o.Log = found.Root, found.Name, args, env.Err
			if cmd.Flags().Changed("http") {
				return serveDevHTTP(cmd.Context(), o, addr)
			}
			return launch.ServeStdio(cmd.Context(), o, env.Out)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&o.NoPetrock, "no-petrock", false, "offer only the project's server, without petrock's tools")
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "petrock's tools run no code of the project; dev still runs its server")
	cmd.Flags().BoolVar(&o.NoNet, "no-net", false, noNetUsage)
	cmd.Flags().StringVar(&addr, "http", "", "serve HTTP on `ADDR` instead, such as :8181, which means 127.0.0.1:8181")
	return markProject(cmd)[0]
}

// serveDevHTTP runs dev with --http. The dev server runs in this process.
func serveDevHTTP(ctx context.Context, o live.Options, addr string) error {
	options := devserver.Options{Dir: o.Root, Generators: generators.All(), NoExec: o.NoExec, Prefix: live.Prefix}
	options.Limits.NoNet = o.NoNet
	tools, err := devserver.New(options)
	if err != nil {
		return err
	}
	defer tools.Close()
	o.DevServer = func(ctx context.Context) (jsonrpc.Transport, error) {
		ours, theirs := jsonrpc.Pipe()
		go tools.Server.Serve(context.WithoutCancel(ctx), theirs) // until ours is closed
		return ours, nil
	}
	supervisor, err := live.New(o)
	if err != nil {
		return err
	}
	err = livehttp.Serve(ctx, addr, os.Getenv(livehttp.TokenVariable), supervisor.Serve, o.Log)
	if invalid, ok := errors.AsType[*mcphttp.OptionError](err); ok {
		err = terminal.Usagef("--http %s: %s", invalid.Value, invalid.Reason)
	}
	return errors.Join(err, supervisor.Close())
}
