// Package cli offers the generators in a terminal: as the command line of a project's own petrock, and
// as commands for other command lines.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpcli"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/trial"
)

// Main is the main function of a project's petrock: it runs the command that the arguments name,
// and returns the exit code. The project's own generators, if any, are added to petrock's.
func Main(ctx context.Context, args []string, out *os.File, own ...gen.Generator) int {
	dir, _ := os.Getwd() // commands that need it report that it does not exist
	env := Env{Out: out, Err: os.Stderr, Dir: dir, Program: "go run ./cmd/petrock", Own: own}
	return Run(ctx, newProjectRoot, args, env)
}

func newProjectRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "petrock",
		Short: "The petrock of this project",
		Long: `The petrock of this project. It generates tools, resources, prompts and features, undoes that,
derives registration and schemas from your Go, and checks the project.

It has the version that the project was made with, and works while the rest of the project does
not compile.`,
		Example: examples(env, "generate tool send_mail to 'subject \"What it is about\"'", "undo", "sync", "list"),
	}
	root.AddCommand(Commands(env)...)
	root.AddCommand(NewMCP(env, devserver.Options{IsProjectPetrock: true}, nil), NewStatus(env), NewVersion())
	root.AddCommand(newCalls(env)...)
	return root
}

// NewMCP is the command that runs the dev server. More adds tools to it, and may be nil.
func NewMCP(env Env, o devserver.Options, more func(*devserver.Tools, *mcp.Server) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Run the dev server: petrock as an MCP server on standard input and output",
		Long: `Run the dev server: petrock as an MCP server on standard input and output, until the client
closes the input. The tools work on the project around the working directory, and on projects below it.

Components may be sent with their code and with examples, which are then built and run as a process of
their own before anything is written, with limits on time, memory and output. On Linux they can write
to a temporary folder alone, and their child processes end with them. They can read your files and,
without --no-net, use the network. The result names limits that the system could not enforce. The
tool call runs the project's server, without these limits. With --no-exec nothing is run.`,
		Example: examples(env, "mcp", "mcp --no-net", "mcp --no-exec"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.IsTerminal(os.Stdin) {
				fmt.Fprintln(env.Err, "petrock speaks MCP here, one JSON message a line. MCP clients start it; end it with Ctrl-D.")
			}
			o.Dir, o.Generators = env.Dir, generators.All()
			tools, err := devserver.New(o)
			if err != nil {
				return err
			}
			defer tools.Close()
			server, err := tools.NewServer()
			if err == nil && more != nil {
				err = more(tools, server)
			}
			if err != nil {
				return err
			}
			return server.ServeStdio(cmd.Context(), env.Out)
		},
	}
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "run no code of the project: no examples, no calls, no generators of its own")
	cmd.Flags().BoolVar(&o.Limits.NoNet, "no-net", false, noNetUsage)
	return markProject(cmd)[0]
}

// NewStatus is the command that says what the project is and whether it compiles.
func NewStatus(env Env) *cobra.Command {
	var c common
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what the project is, and check it",
		Long: `Show what the project is and which packages it has. Check that they compile, tests included, that
derived files are up to date, and that core and generators match petrock.sum.

Exit codes: 0 the project compiles, 1 it does not, or petrock.sum or contract.json cannot be read.`,
		Example: examples(env, "status", "status --json"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			tools, err := devserver.New(devserver.Options{Dir: joinDir(env.Dir, c.dir), Generators: generators.All()})
			if err != nil {
				return err
			}
			defer tools.Close()
			status, err := tools.Status(cmd.Context(), "")
			if err != nil {
				return err
			}
			if c.asJSON {
				err = terminal.PrintJSON(env.Out, status)
			} else {
				_, err = fmt.Fprint(env.Out, status)
			}
			switch {
			case err == nil && !status.Builds:
				err = &terminal.ReportedError{Err: fmt.Errorf("%s does not compile", status.Name)}
			case err == nil && !status.OK:
				err = &terminal.ReportedError{Err: fmt.Errorf("not all files of %s can be read", status.Name)}
			}
			return err
		},
	}
	c.flags(cmd, false)
	return markProject(cmd)[0]
}

// NewVersion is the command that prints the version.
func NewVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "petrock %s %s\n", generators.Version, runtime.Version())
			return err
		},
	}
}

// An Env is the world around a command line.
type Env struct {
	Out     *os.File  // standard output
	Err     io.Writer // standard error
	Dir     string    // the working directory; empty if it is gone
	Program string    // how the program is called in a terminal, for help texts

	Installed bool            // this petrock belongs to no project
	Own       []gen.Generator // the project's own generators, in the program that has them
}

func (env Env) generators() []gen.Generator { return append(generators.All(), env.Own...) }

// Run runs the command that the arguments name, and returns the exit code. Errors that cobra finds
// before a command starts are usage errors. An error is printed to standard error and, with --json,
// as an object to standard output. An interrupt, SIGTERM or the end of the terminal cancels the
// context; a second one ends the process. A command that belongs to the project's petrock is handed
// over to that. A process that a trial has started supervises a test instead.
func Run(ctx context.Context, newRoot func(Env) *cobra.Command, args []string, env Env) int {
	if trial.Supervise() {
		return 0
	}
	if status, done := handOver(ctx, newRoot(env), args, env); done {
		return status
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	context.AfterFunc(ctx, stop)

	started := false
	root := newRoot(env)
	root.SilenceErrors, root.SilenceUsage = true, true
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.SetArgs(args)
	mcpcli.Strict(root)
	extendHelp(root)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = &terminal.UsageError{Err: err}
	}
	return end(err, root.Name(), cmd.CommandPath(), wantsJSON(cmd, args), env)
}

// wantsJSON reports whether JSON was asked for, of a command that has it. Where the arguments
// were not read to their end, because of something wrong in them, they are looked at once more.
func wantsJSON(cmd *cobra.Command, args []string) bool {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return flag.Value.String() == "true" || slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// end says what went wrong, if anything did, and returns the status to end with.
func end(err error, program, command string, asJSON bool, env Env) int {
	status := terminal.ExitCode(err)
	if err == nil {
		return status
	}
	if refusal, ok := errors.AsType[*engine.Refusal](err); ok { // whose options are flags here
		refusal.WayOut = strings.NewReplacer("ith keep", "ith --keep", "ith force", "ith --force").Replace(refusal.WayOut)
	}
	if said := (*terminal.ReportedError)(nil); asJSON && !errors.As(err, &said) {
		terminal.PrintJSON(env.Out, engine.FaultOf(err))
	}
	fmt.Fprintf(env.Err, "%s: %s\n", program, terminal.Plain(err.Error())) // it may quote a project
	if status == terminal.ExitUsage {
		fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", command)
	}
	return status
}

// printResult says what was done. Of a dry run it prints the differences alone, for other programs
// to read, and the rest to standard error.
func printResult(env Env, r *engine.Result) error {
	if r.Recovered != "" {
		fmt.Fprintln(env.Err, r.Recovered)
	}
	if !r.DryRun {
		_, err := fmt.Fprint(env.Out, r)
		return err
	}
	var diffs strings.Builder
	for _, f := range r.Files {
		diffs.WriteString(f.Diff)
	}
	if _, err := fmt.Fprint(env.Out, diffs.String()); err != nil {
		return err
	}
	_, err := fmt.Fprint(env.Err, r)
	return err
}
