package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

func newMCP(out *os.File) *cobra.Command {
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
			server, err := newServer(cmd.Context())
			if err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), out)
		},
	}
	cmd.Flags().BoolVar(&dev, "dev", false, "serve the project's workshop instead")
	return cmd
}

// newServer is the server with all that the project offers. ctx is that of the whole run.
func newServer(ctx context.Context) (*mcp.Server, error) {
	server := mcp.NewServer(mcp.Implementation{Name: programName, Version: version}, mcp.Options{})
	if err := register(ctx, server); err != nil {
		return nil, err
	}
	return server, nil
}
