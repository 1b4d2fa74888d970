package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators"
	"github.com/petrock/petrock/generators/engine"
	"github.com/petrock/petrock/generators/gen"
)

// An Env is the world around a command line.
type Env struct {
	Out     *os.File  // standard output
	Err     io.Writer // standard error
	Dir     string    // the working directory; empty if it is gone
	Program string    // how the program is called in a terminal, for help texts

	Installed bool            // this petrock belongs to no project
	Own       []gen.Generator // the project's own generators, in the program that has them
}

// generators returns petrock's generators and those of the project.
func (env Env) generators() []gen.Generator { return append(generators.All(), env.Own...) }

// Run runs the command that the arguments name, and returns the exit code. Errors that cobra finds
// before a command starts are usage errors. An error is printed to standard error and, with --json,
// as an object to standard output. An interrupt, SIGTERM or the end of the terminal cancels the
// context; a second one ends the process. A command that belongs to the project's petrock is handed
// over to that.
func Run(ctx context.Context, newRoot func(Env) *cobra.Command, args []string, env Env) int {
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
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	answerUnknown(root)
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
	status := terminal.Status(err)
	if err == nil {
		return status
	}
	if said := (*terminal.SaidError)(nil); asJSON && !errors.As(err, &said) {
		PrintJSON(env, engine.FaultOf(err))
	}
	fmt.Fprintf(env.Err, "%s: %v\n", program, err)
	if status == terminal.Misuse {
		fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", command)
	}
	return status
}

// answerUnknown makes commands that only hold others, and help, refuse what they do not know: cobra
// would print help and end as if all were well.
func answerUnknown(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		answerUnknown(sub)
		if sub.Name() == "help" && !cmd.HasParent() {
			sub.Args = knownTopic
		}
	}
	if !cmd.Runnable() {
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}

// knownTopic refuses to help with what is not there.
func knownTopic(help *cobra.Command, args []string) error {
	if found, rest, err := help.Root().Find(args); err != nil || found == nil || len(rest) > 0 {
		return fmt.Errorf("there is no command %q to help with", strings.Join(args, " "))
	}
	return nil
}
