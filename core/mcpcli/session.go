package mcpcli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/terminal"
)

// A command is what the commands share while they are made and run.
type command struct {
	Env
	flags  Flags
	target Target
	shape  Shape
}

// newCommand completes cmd, whose Use has the words after the server, and makes it run do. suggest completes those words; nil suggests
// none.
func newCommand(env Env, cmd *cobra.Command, shape Shape, suggest suggestion, do func(context.Context, *session, []string) error) *cobra.Command {
	c := &command{Env: env, target: env.Target(), shape: shape}
	name, rest, _ := strings.Cut(cmd.Use, " ")
	cmd.Use = strings.TrimSpace(name + " " + rest)
	if env.Many {
		cmd.Use = strings.ReplaceAll(name+" [SERVER] "+rest+" [-- COMMAND…]", "  ", " ")
	}
	if env.About != "" {
		cmd.Long += "\n\n" + env.About
	}
	cmd.Long += `

Exit codes: 0 success; 1 the server or the tool reports a failure, or the command was interrupted; 2 usage error;
3 the server was not reached, or did not answer in MCP.`
	var lines []string
	for line := range strings.SplitSeq(cmd.Example, "\n") {
		if line != "" {
			lines = append(lines, "  "+env.Program+" "+line)
		}
	}
	for _, line := range env.Examples[name] {
		lines = append(lines, "  "+env.Program+" "+line)
	}
	cmd.Example = strings.Join(lines, "\n")
	cmd.Args = shape.Args(env.Many)
	cmd.ValidArgsFunction = c.completer(suggest)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd, args, do) }
	c.flags.Add(cmd)
	c.target.Flags(cmd, &c.flags)
	return cmd
}

// A session is a command that is connected to a server.
type session struct {
	*client.Client
	server   *Server
	printer  *Printer
	progress *terminal.Progress
}

// run connects to the server that a command line means and calls do with the remaining words. An interrupt cancels the request and ends
// the server in an orderly way.
func (c *command) run(cmd *cobra.Command, args []string, do func(context.Context, *session, []string) error) error {
	return Report(c.Env, &c.flags, func() error {
		if err := c.flags.Check(); err != nil {
			return err
		}
		server, words, err := c.target.Find(args, cmd.ArgsLenAtDash(), c.shape)
		if err != nil {
			return err
		}
		ctx, stop := Interruptible(cmd.Context())
		defer stop()
		s := &session{server: server, printer: NewPrinter(c.Env, &c.flags), progress: terminal.NewProgress(c.Err, c.flags.Verbose)}
		s.progress.Begin("connecting to " + terminal.Plain(server.Name))
		defer s.progress.End()
		options := client.Options{Info: c.Info, Timeout: c.flags.Timeout}
		if a := NewAsker(c.Env, s.progress); a != nil {
			options.Elicit, options.OpenURL = a.form, a.visit
		}
		connected, end, err := server.Connect(ctx, options)
		if err != nil {
			return exitStatus(ctx, err)
		}
		s.Client = connected
		s.progress.End()
		err = do(ctx, s, words)
		s.progress.End()
		return errors.Join(exitStatus(ctx, err), end())
	})
}

// Interruptible returns a context that an interrupt or SIGTERM cancels. A second signal ends the process.
func Interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// ErrInterrupted says that the user interrupted a command.
var ErrInterrupted = errors.New("interrupted")

// exitStatus gives an error the type that leads to the right exit code.
func exitStatus(ctx context.Context, err error) error {
	if _, usage := errors.AsType[*terminal.UsageError](err); err == nil || usage {
		return err
	}
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	if _, unknown := errors.AsType[*client.NotFoundError](err); unknown {
		return &terminal.UsageError{Err: err}
	}
	if _, unreached := errors.AsType[*client.ConnectionError](err); unreached {
		return &terminal.UnreachedError{Err: err}
	}
	return err
}

// A Fault is the JSON that a failed command prints.
type Fault struct {
	OK      bool   `json:"ok"` // always false
	Message string `json:"error"`
	Status  int    `json:"status"` // the exit code
}

// Report calls do, and prints its error as JSON if JSON is printed and the error has not been printed. Control characters in the error
// are removed, because it may quote a server.
func Report(env Env, flags *Flags, do func() error) error {
	err := do()
	if err != nil && terminal.Plain(err.Error()) != err.Error() {
		err = &plainError{err}
	}
	if _, printed := errors.AsType[*terminal.SaidError](err); err == nil || printed || !flags.PrintsJSON(env.Out) {
		return err
	}
	if printErr := terminal.PrintJSON(env.Out, Fault{Message: err.Error(), Status: terminal.Status(err)}); printErr != nil {
		return errors.Join(err, printErr)
	}
	return &terminal.SaidError{Err: err}
}

// A plainError is an error whose text has no control characters.
type plainError struct{ err error }

func (e *plainError) Error() string { return terminal.Plain(e.err.Error()) }

func (e *plainError) Unwrap() error { return e.err }
