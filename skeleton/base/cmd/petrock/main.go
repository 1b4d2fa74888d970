// Petrock is this project's own petrock, for people in a terminal and for agents over MCP: it
// generates components, undoes that, and checks the project. It imports none of the project's other
// packages, so that it works while they do not compile.
package main

import (
	"context"
	"os"

	"github.com/petrock/petrock/generators/cli"
)

func main() { os.Exit(cli.Main(context.Background(), os.Args[1:], os.Stdout)) }
