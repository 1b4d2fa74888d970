package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newMCP(out *os.File, with []extension) *cobra.Command {
	var dev bool
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over standard input and output",
		Long: `Serve MCP over standard input and output, one client, until it closes the input.

This is what an MCP client starts. With --dev it is the project's workshop that
is served instead, for the agent that works on the project. That needs the project's
source, around the working directory or around this program.`,
		Example: "  " + programName + " mcp\n  " + programName + " mcp --dev",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dev {
				return serveWorkshop(cmd.Context(), out)
			}
			if terminal.Watched(os.Stdin) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s speaks MCP here, one JSON message a line. A client starts it; end it with Ctrl-D.\n", programName)
			}
			server, end, err := newServer(cmd.Context(), slog.Default(), with)
			if err != nil {
				return err
			}
			return errors.Join(server.ServeStdio(cmd.Context(), out), end())
		},
	}
	cmd.Flags().BoolVar(&dev, "dev", false, "serve the project's workshop instead")
	for _, e := range with {
		e.Flags(cmd)
	}
	return cmd
}

// newServer is the server with all that the project offers, which logs to log. ctx is that of the whole run, and end is called after it.
func newServer(ctx context.Context, log *slog.Logger, with []extension) (server *mcp.Server, end func() error, err error) {
	key, err := stateKey()
	if err != nil {
		return nil, nil, err
	}
	server = mcp.NewServer(mcp.Implementation{Name: programName, Version: version}, mcp.Options{StateKey: key, Logger: log})
	if err := register(ctx, server); err != nil {
		return nil, nil, err
	}
	end, err = openAll(ctx, server, log, with)
	return server, end, err
}
