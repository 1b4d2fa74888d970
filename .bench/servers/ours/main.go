// Ours is a server on petrock's core, over stdio or HTTP.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/stdfd"
	"github.com/petrock/petrock/skeleton/base/tools"
)

func main() {
	out, err := stdfd.TakeStdout()
	if err == nil {
		err = newRootCmd(out).ExecuteContext(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func newRootCmd(out *os.File) *cobra.Command {
	root := &cobra.Command{
		Use:           "ours",
		Short:         "An MCP server",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetOut(out)
	root.AddCommand(newMCPCmd(out), newServeCmd(out))
	return root
}

func newMCPCmd(out *os.File) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Serve MCP over standard input and output",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server := mcp.NewServer(mcp.Implementation{Name: "ours", Version: "0.1.0"}, mcp.Options{})
			if err := tools.Register(server); err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), out)
		},
	}
}
