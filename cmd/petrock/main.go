// Petrock scaffolds MCP servers in Go. See petrock help.
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

// run runs the command that the arguments name, and returns the exit code.
func run(ctx context.Context, args []string) int {
	dir, _ := os.Getwd() // commands that need it report that it does not exist
	env := cli.Env{Out: os.Stdout, Err: os.Stderr, Dir: dir, Program: "petrock", Installed: true}
	return cli.Run(ctx, newRoot, args, env)
}

func newRoot(env cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "petrock",
		Short: "Scaffold MCP servers in Go",
		Long: `Scaffold MCP servers in Go.

petrock new writes a project: a server with a tool and its tests, and the project's own petrock. A
project does not depend on this petrock.

petrock mcp offers all of that to an agent, as an MCP server, in any directory.

petrock tools, call, resources, read, prompts and prompt speak to any MCP server, and petrock
doctor checks it. These need no project.

In a project, petrock generate adds tools, resources, prompts and features, and petrock undo reverts
that. The project's own petrock runs these commands, at the version that the project was made with.
If it does not build, with --no-exec, or if PETROCK_HANDOVER=off is set, this petrock runs them.
petrock help trust says what petrock starts, and when it asks.`,
		Example: `  petrock new hello
  cd hello
  petrock generate tool send_mail to 'subject "What it is about"'
  petrock undo`,
	}
	root.AddCommand(newNew(env))
	root.AddCommand(cli.Commands(env)...)
	root.AddCommand(cli.NewMCP(env, devserver.Options{CanCreate: true}, offerNew(env)), cli.NewStatus(env), cli.NewVersion())
	root.AddCommand(servers.Commands(cli.CallEnv(env))...)
	return root
}
