package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/terminal"
)

// An Env is the world around a command line.
type Env struct {
	Out *os.File  // standard output
	Err io.Writer // standard error
	Dir string    // the working directory
}

// Run does what the arguments say and returns the status to end with. What cobra finds
// wrong before a command has begun is wrong usage. An interrupt or SIGTERM cancels the context;
// a second one ends the process.
func Run(ctx context.Context, root *cobra.Command, args []string, env Env) int {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	started := false
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
	status := terminal.Status(err)
	if err != nil {
		fmt.Fprintf(env.Err, "%s: %v\n", root.Name(), err)
	}
	if status == terminal.Misuse {
		fmt.Fprintf(env.Err, "Run '%s --help' for usage.\n", cmd.CommandPath())
	}
	return status
}

// answerUnknown makes commands that only hold others refuse what they do not know: cobra
// would print their help and end as if all were well.
func answerUnknown(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		answerUnknown(sub)
	}
	if !cmd.Runnable() {
		cmd.Args = cobra.NoArgs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
}
