// Petrock scaffolds MCP servers in Go. See petrock help.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/servers"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/cli"
)

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

func run(ctx context.Context, args []string) int {
	dir, _ := os.Getwd() // commands that need it report that it does not exist
	env := cli.Env{Out: os.Stdout, Err: os.Stderr, Dir: dir, Program: "petrock", Installed: true, Build: moduleVersion()}
	return cli.Run(ctx, newRoot, args, env)
}

// moduleVersion returns the version of the module that this program was built from, such as v0.3.0
// or v0.3.1-0.20261118093000-0123456789ab, or "" if it is unknown.
func moduleVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}

func newRoot(env cli.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "petrock",
		Short: "Scaffold MCP servers in Go",
		Long: `Scaffold MCP servers in Go.

petrock new creates a project: a server with one tool and its test, and the project's own petrock. In
the project, petrock generate adds tools, resources, prompts and features, and petrock undo reverts
that. petrock dev runs the project's server for an MCP client, with these commands as tools, and reloads
it after each change. petrock mcp is an MCP server with these commands alone.

petrock tools, call, resources, read, prompts, prompt and doctor work with any MCP server, and without
a project.

In a project, the project's own petrock runs the commands on the project, at the version that created
it. The installed petrock runs them if the project's petrock does not build, with --no-exec, or if
PETROCK_HANDOVER=off is set. petrock help trust lists the programs that petrock starts, and when it
asks first.`,
		Example: `  petrock new hello
  cd hello
  petrock generate tool send_mail to 'subject "What it is about"'
  petrock undo`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := project.Find(env.Dir); !errors.Is(err, project.ErrNone) {
				return cmd.Help()
			}
			_, err := fmt.Fprint(env.Out, "Petrock scaffolds MCP servers in Go. Create one:\n\n  petrock new hello\n\nRun 'petrock help' for all commands.\n")
			return err
		},
	}
	mcpcli.AddGroup(root, cli.ChangeGroup, newNew(env))
	cli.AddCommands(root, env)
	mcpcli.AddGroup(root, cli.ServeGroup, newDev(env), cli.NewMCP(env, newDevServer))
	mcpcli.AddGroup(root, "Call and check MCP servers:", servers.Commands(mcpcli.Env{
		In: os.Stdin, Out: env.Out, Err: env.Err, Dir: env.Dir, Program: env.Program,
		Info: mcp.Implementation{Name: "petrock", Version: generators.Version},
	})...)
	root.AddCommand(newChangelog(env))
	return root
}
