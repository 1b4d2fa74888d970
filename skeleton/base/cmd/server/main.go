// Server offers the project's tools to an MCP client, over standard input and output.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/quiet"
	"github.com/petrock/petrock/skeleton/base/tools"
)

func main() {
	if err := run(context.Background(), os.NewFile(quiet.Stdout(), "stdout")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out *os.File) error {
	server := mcp.NewServer(mcp.Implementation{Name: "server", Version: "0.1.0"}, mcp.Options{})
	if err := tools.Register(server); err != nil {
		return err
	}
	return server.ServeStdio(ctx, out)
}
