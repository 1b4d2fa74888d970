package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/cmd/petrock/internal/create"
	"github.com/petrock/petrock/cmd/petrock/internal/scaffold"
	"github.com/petrock/petrock/cmd/petrock/internal/servers"
	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators/cli"
	"github.com/petrock/petrock/generators/live"
)

// newOptions are the arguments and flags of petrock new.
type newOptions struct {
	name, module, dir, example   string
	oauth                        bool
	noGit, dryRun, asJSON, quiet bool
}

func newNew(env cli.Env) *cobra.Command {
	var o newOptions
	cmd := &cobra.Command{
		Use:   "new NAME [MODULE]",
		Short: "Create a project: an MCP server with its tests",
		Long: `Create a project: an MCP server with its tests.

NAME is the name of the project and of its server. On a terminal, petrock asks for it if it is missing.
MODULE is the path of the Go module, such as example.com/hello (default NAME).

petrock creates the project in the folder NAME, or in --dir. The folder must be empty or not exist.
petrock compiles the server and its tests first, and writes all of the project or nothing. The
project's own petrock is compiled when it is first used. If git is installed and configured, the
project is a git repository with a first commit, unless it is inside a repository.

With --example, the project starts from an example instead of the tool add:
  everything  each feature of the protocol once; the official conformance suite runs against it
  moonphase   a small HTTP server that requires an API key
  tasks       an event-sourced queue of tasks and questions for several agents

No network is needed if the modules that a project requires are in Go's module cache.`,
		Example: `  petrock new hello
  petrock new hello example.com/me/hello --dir ~/src/hello
  petrock new hello --dir .
  petrock new demo --example everything
  petrock new moonphase --example moonphase
  petrock new hello --oauth
  petrock new hello --dry-run`,
		Args: func(_ *cobra.Command, args []string) error { return checkArgs(args, newAsker(env, o) != nil) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				name, err := askName(cmd.Context(), newAsker(env, o))
				if err != nil {
					return err
				}
				args = []string{name}
			}
			o.name, o.module = args[0], args[len(args)-1]
			if !cmd.Flags().Changed("dir") {
				o.dir = o.name
			}
			return runNew(cmd.Context(), env, o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dir, "dir", "", "folder of the project (default NAME)")
	flags.StringVar(&o.example, "example", "", "start from an example: "+examples())
	flags.BoolVar(&o.oauth, "oauth", false, "let the server check OAuth 2.1 bearer tokens (serve --oauth-issuer)")
	flags.BoolVar(&o.noGit, "no-git", false, "do not create a git repository")
	flags.BoolVar(&o.dryRun, "dry-run", false, "list the files, but write nothing")
	flags.BoolVar(&o.asJSON, "json", false, "print one JSON object")
	flags.BoolVar(&o.quiet, "quiet", false, "print only errors")
	cmd.MarkFlagDirname("dir")
	cmd.RegisterFlagCompletionFunc("example", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return scaffold.Embedded().Examples(), cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func examples() string {
	names := scaffold.Embedded().Examples()
	if len(names) == 0 {
		return "this version has none"
	}
	return strings.Join(names, ", ")
}

var errNoName = errors.New("new needs NAME, such as hello")

func checkArgs(args []string, canAsk bool) error {
	switch {
	case len(args) == 0 && !canAsk:
		return errNoName
	case len(args) > 2:
		return fmt.Errorf("unexpected argument %q: usage: new NAME [MODULE]", args[2])
	}
	return nil
}

// newAsker returns an asker for the name, or nil if the user cannot be asked.
func newAsker(env cli.Env, o newOptions) *mcpcli.Asker {
	if o.asJSON || !terminal.IsTerminal(env.Out) {
		return nil
	}
	return mcpcli.NewAsker(mcpcli.Env{In: os.Stdin, Err: env.Err}, &terminal.Progress{})
}

func askName(ctx context.Context, asker *mcpcli.Asker) (string, error) {
	name, err := asker.Line(ctx, "Name of the project, such as hello", "")
	switch {
	case ctx.Err() != nil:
		return "", mcpcli.ErrInterrupted
	case name == "" && (err == nil || errors.Is(err, io.EOF)):
		return "", &terminal.UsageError{Err: errNoName}
	}
	return name, err
}

func runNew(ctx context.Context, env cli.Env, o newOptions) error {
	result, err := createProject(ctx, env, o)
	switch {
	case err != nil:
		return err
	case !o.dryRun:
		_ = servers.AllowProject(result.Dir) // without it, petrock asks before it starts them
		if terminal.IsTerminal(os.Stderr) {
			_ = live.RecordGoEnviron(result.Dir) // for MCP clients; without it they build with an empty cache
		}
	}
	switch {
	case o.asJSON:
		err = terminal.PrintJSON(env.Out, result)
	case !o.quiet || o.dryRun:
		err = cli.PrintReport(env.Out, result)
	}
	if err != nil && !o.dryRun {
		return &terminal.ReportedError{Err: fmt.Errorf("created %s in %s, but cannot print the result: %w", result.Name, result.Dir, err)}
	}
	return err
}

func createProject(ctx context.Context, env cli.Env, o newOptions) (*create.Result, error) {
	progress := &terminal.Progress{Out: env.Err, Quiet: o.quiet || o.asJSON}
	defer progress.End()
	return create.Run(ctx, scaffold.Embedded(), create.Options{
		Answers: scaffold.Answers{Name: o.name, Module: o.module, Example: o.example, OAuth: o.oauth},
		Dir:     o.dir,
		Base:    env.Dir,
		NoGit:   o.noGit,
		DryRun:  o.dryRun,
		Step:    progress.Begin,
	})
}
