// Petrock makes MCP servers in Go that grow themselves. See petrock help.
package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/servers"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/devserver"
)

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run is the program: it does what the arguments say and returns the status to end with.
func run(ctx context.Context, args []string) int {
	dir, _ := os.Getwd() // it may have been removed meanwhile, and help is help all the same
	env := cli.Env{Out: os.Stdout, Err: os.Stderr, Dir: dir, Program: "petrock"}
	if status, done := handOver(ctx, args, env); done {
		return status
	}
	return cli.Run(ctx, newRoot(env), args, env)
}

func newRoot(env cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "petrock",
		Short: "Make MCP servers in Go that grow themselves",
		Long: `Make MCP servers in Go that grow themselves.

petrock new writes a project: a server with a tool, its tests, and a workshop, which is
the project's own petrock. What there is in a project is the project's: nothing in it
depends on petrock.

petrock mcp offers all of that to an agent, as an MCP server, in any folder.

petrock tools, call, resources, read, prompts and prompt speak to MCP servers, those of a project and
any others, and petrock doctor checks them. These need no project.

In a project, petrock generate adds tools, resources and prompts, and petrock undo takes
that back. These commands are done by the project's workshop, at the version that the project
was made with; if that does not build, by this petrock, which says so then. With
PETROCK_WORKSHOP=off in the environment this petrock does them anyway.`,
		Example: `  petrock new hello
  cd hello
  petrock generate tool send_mail to 'subject "What it is about"'
  petrock undo`,
	}
	root.AddCommand(newNew(env))
	root.AddCommand(cli.Commands(env)...)
	root.AddCommand(cli.NewMCP(env, devserver.Options{CanMake: true}, offerNew(env)), cli.NewStatus(env), cli.NewVersion())
	root.AddCommand(servers.Commands(cli.CallEnv(env))...)
	return root
}
