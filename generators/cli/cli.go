// Package cli is the command line of a project's own petrock. Its commands are also part of the
// installed petrock.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/plumbing/mcpcli"
	"github.com/petrock/petrock/core/plumbing/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/devserver"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
	"github.com/petrock/petrock/generators/launch"
	"github.com/petrock/petrock/generators/linked"
	"github.com/petrock/petrock/generators/live"
	"github.com/petrock/petrock/generators/trial"
)

// Main runs the command line of a project's own petrock, and returns the exit code. own are the
// project's own generators, which are added to petrock's.
func Main(ctx context.Context, args []string, out *os.File, own ...gen.Generator) int {
	dir, _ := os.Getwd() // commands that need it report that it does not exist
	program := cmp.Or(os.Getenv(programVariable), "go run ./cmd/petrock")
	os.Unsetenv(programVariable) // not for child processes
	env := Env{Out: out, Err: os.Stderr, Dir: dir, Program: program, Own: own}
	return Run(ctx, newProjectRoot, args, env)
}

func newProjectRoot(env Env) *cobra.Command {
	root := &cobra.Command{
		Use:     "petrock",
		Short:   "Generate and check the code of this project",
		Long:    longHelp("petrock"),
		Example: examples(env, "petrock"),
	}
	AddCommands(root, env)
	mcpcli.AddGroup(root, ServeGroup, NewDev(env, launch.ServeStdio), NewMCP(env, devserver.New))
	mcpcli.AddGroup(root, "Call the project's server:", newCalls(env)...)
	return root
}

// NewMCP returns the command mcp, which runs the dev server that newTools returns.
func NewMCP(env Env, newTools func(devserver.Options) (*devserver.Tools, error)) *cobra.Command {
	var o devserver.Options
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Run the dev server: petrock as an MCP server on standard input and output",
		Long:  longHelp("mcp") + "\n\n" + longHelp("examples"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if terminal.IsTerminal(os.Stdin) {
				fmt.Fprintln(env.Err, "petrock mcp reads MCP messages from standard input. MCP clients start it; press Ctrl-D to end it.")
			}
			o.Dir, o.Generators = env.Dir, linked.All()
			tools, err := newTools(o)
			if err != nil {
				return err
			}
			defer tools.Close()
			return tools.Server.ServeStdio(cmd.Context(), env.Out)
		},
	}
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "run no code of the project: no examples, no tests, no calls, no project generators")
	cmd.Flags().BoolVar(&o.Limits.NoNet, "no-net", false, noNetUsage)
	cmd.Flags().StringVar(&o.Prefix, "prefix", "", "prefix for the names of tools and prompts, such as petrock_")
	cmd.Flags().MarkHidden("prefix")
	return projectCommands(env, cmd)[0]
}

func newStatus(env Env) *cobra.Command {
	compile := func(e *engine.Engine, ctx context.Context) (devserver.ProjectStatusOutput, error) {
		return devserver.Status(ctx, e, true)
	}
	return newView(env, "status", "Show and check the project", compile, printReport, func(s devserver.ProjectStatusOutput) error {
		err := reported(nil, !s.Builds, s.Name+" does not compile")
		return reported(err, !s.OK, "some files of "+s.Name+" cannot be read")
	})
}

// An Env is the environment of a command line.
type Env struct {
	Out     *os.File  // standard output
	Err     io.Writer // standard error
	Dir     string    // the working directory; empty if it was removed
	Program string    // the command that users type, for help and remedies

	Installed bool            // this is the installed petrock, not a project's own
	Build     string          // the module version that the program was built from, for the version command; may be empty
	Own       []gen.Generator // the project's own generators, if they are linked in

	args []string // the command line; [Run] sets it
}

func (env Env) generators() []gen.Generator { return append(linked.All(), env.Own...) }

// Run runs a command line and returns the exit code. Commands on a project are handed over to the
// project's own petrock, see [handover.Operation]. Run prints errors to standard error or, with
// --json, as an object to standard output. SIGINT, SIGTERM and SIGHUP cancel the context; a second
// signal ends the process. In a process that a trial or petrock dev has started, Run supervises the
// trial, or guards the servers, instead.
func Run(ctx context.Context, newRoot func(Env) *cobra.Command, args []string, env Env) int {
	if trial.Supervise() || live.Guard() {
		return 0
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(ctx, signals...)
	defer stop()
	context.AfterFunc(ctx, stop)

	env.args = args
	root := newRoot(env)
	addOwnGenerators(ctx, root, env)
	finish(root, env)
	cmd, err := mcpcli.Execute(ctx, root, args)
	_, isReported := errors.AsType[*terminal.ReportedError](err)
	if err != nil && err.Error() != "" && !isReported && wants(cmd, args, "json") &&
		printJSON(env, engine.FaultOf(err), wants(cmd, args, "detail")) == nil {
		err = &terminal.PrintedError{Err: err}
	}
	return mcpcli.PrintError(cmd, err)
}

func finish(root *cobra.Command, env Env) {
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: env.Program} // in help and errors
	version := "petrock " + generators.Version
	if env.Build != "" {
		version += " (" + env.Build + ")"
	}
	mcpcli.Finish(root, version+" "+runtime.Version())
	extendHelp(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return explainFlagError(cmd, err, env) })
}

// wants reports whether a flag, such as json, is given to a command that has it. It also searches
// args, because cobra stops at the first wrong argument.
func wants(cmd *cobra.Command, args []string, name string) bool {
	flag := cmd.Flags().Lookup(name)
	if flag == nil {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return flag.Value.String() == "true" || slices.Contains(args, "--"+name) || slices.Contains(args, "--"+name+"=true")
}

// printResult prints the result of an operation. For a dry run, it prints only the diffs to
// standard output, so that other programs can read them, and the rest to standard error.
func printResult(env Env, r *engine.Result) error {
	if r.Recovered != "" {
		fmt.Fprintln(env.Err, r.Recovered)
	}
	if !r.DryRun {
		return PrintReport(env.Out, r)
	}
	for _, f := range r.Files {
		if _, err := io.WriteString(env.Out, f.Diff); err != nil {
			return err
		}
	}
	return PrintReport(env.Err, r)
}

// NewDev returns the command dev. Its flags are also those of [launch.Main]. serve runs it, such as
// [launch.ServeStdio].
func NewDev(env Env, serve func(ctx context.Context, o live.Options, out *os.File) error) *cobra.Command {
	var o live.Options
	cmd := &cobra.Command{
		Use:   "dev [-- ARGUMENT...]",
		Short: "Run the project's server and petrock's tools, and reload after each change",
		Args: func(cmd *cobra.Command, args []string) error {
			if before := cmd.ArgsLenAtDash(); len(args) > 0 && before != 0 {
				return fmt.Errorf("unexpected argument %q; arguments of the server follow --", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := launch.FindProject(env.Dir)
			if err != nil {
				return err
			}
			o.Root, o.Name, o.Args, o.Log, o.Guard = found.Root, found.Name, args, env.Err, true
			return serve(cmd.Context(), o, env.Out)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	cmd.Flags().BoolVar(&o.NoPetrock, "no-petrock", false, "offer only the project's server, without petrock's tools")
	cmd.Flags().BoolVar(&o.NoExec, "no-exec", false, "petrock's tools run no code of the project; dev still runs its server")
	cmd.Flags().BoolVar(&o.NoNet, "no-net", false, noNetUsage)
	cmd.AddCommand(newServerCommand(env, "try STEP...", "Try commands, workers and the passing of time on a copy of the data"))
	return projectCommands(env, cmd)[0]
}
