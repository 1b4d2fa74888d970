package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/livehttp"
	"github.com/petrock/petrock/core/mcphttp"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/live"
)

// newDev returns the command dev with the flag --http, which the project's own petrock does not
// have.
func newDev(env cli.Env) *cobra.Command {
	var cmd *cobra.Command
	addr := ""
	cmd = cli.NewDev(env, func(ctx context.Context, o live.Options, out *os.File) error {
		if !cmd.Flags().Changed("http") {
			return launch.ServeStdio(ctx, o, out)
		}
		return serveDevHTTP(ctx, o, addr)
	})
	cmd.Long += `

With --http, dev serves streamable HTTP at /mcp until SIGINT or SIGTERM, to clients on this machine, with
at most 50 sessions. An address without a host, such as :8181, means 127.0.0.1:8181; addresses that
other machines can connect to are refused. Clients must send the token that dev prints, as
Authorization: Bearer TOKEN, because petrock's tools run code. Set ` + livehttp.TokenVariable + ` to
use the same token at each start.`
	cmd.Example += "\n  " + env.Program + " dev --http :8181"
	cmd.Flags().StringVar(&addr, "http", "", "serve HTTP on `ADDR` instead, such as :8181, which means 127.0.0.1:8181")
	return cmd
}

// serveDevHTTP runs dev with --http. It builds and runs the project's servers.
func serveDevHTTP(ctx context.Context, o live.Options, addr string) error {
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
