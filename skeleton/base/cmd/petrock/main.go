// Petrock is this project's own petrock, for people in a terminal and for agents over MCP: it adds tools,
// resources and prompts to it, verified before they are written, takes that back, and tells what the project is
// and whether it compiles. It does not import the rest of the project, and so it works while that does not compile.
package main

import (
	"context"
	"os"

	"github.com/petrock/petrock/core/serve/stdout"
	"github.com/petrock/petrock/generators/cli"
)

func main() {
	out := os.NewFile(stdout.FD(), "stdout") // os.Stdout is standard error from here on
	os.Exit(cli.Main(context.Background(), os.Args[1:], out))
}
