// Petrock is the project's own petrock: it generates and checks components of this project, as a
// command line and as an MCP server. It imports only packages of core and generators, so it works
// while the others do not compile. cmd/petrock builds and runs it.
package main

import (
	"context"
	"os"

	"github.com/petrock/petrock/generators/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout)) }
