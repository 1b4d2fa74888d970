package mcpcli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/fleet"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcpconfig"
	"github.com/petrock/petrock/core/terminal"
)

// A session is a command at work: with a server, and a way to show what it has.
type session struct {
	*client.Client
	server   *mcpconfig.Server
	printer  *printer
	progress *terminal.Progress
}

// run does something with the server that a command line means, with the words that are left. An interrupt ends it in an orderly
// way: the server is told, and ended. What goes wrong is printed as JSON too, if that is what is printed.
func run(cmd *cobra.Command, env Env, o *options, args []string, takes shape, do func(context.Context, *session, []string) error) error {
	return said(env, o, func() error {
		if err := o.check(cmd); err != nil {
			return err
		}
		server, words, err := o.target(env, args, cmd.ArgsLenAtDash(), takes)
		if err != nil {
			return err
		}
		ctx, stop := interruptible(cmd.Context())
		defer stop()
		s := &session{server: server, printer: newPrinter(env, o), progress: terminal.NewProgress(env.Err, o.verbose)}
		doing := "starting "
		if server.Kind != mcpconfig.Stdio {
			doing = "calling "
		}
		s.progress.Begin(doing + plain(server.Name))
		defer s.progress.End()
		if s.Client, err = o.connect(ctx, env, server, s.progress); err != nil {
			return err
		}
		defer s.Close()
		s.progress.End()
		err = do(ctx, s, words)
		s.progress.End()
		return status(ctx, err)
	})
}

// interruptible is ended by an interrupt. The second one ends the process.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// connect begins to speak to a server. progress is out of the way while somebody is asked something.
func (o *options) connect(ctx context.Context, env Env, server *mcpconfig.Server, progress *terminal.Progress) (*client.Client, error) {
	header, err := o.header()
	if err != nil {
		return nil, err
	}
	settings := client.Options{Info: env.Info, Revision: mcp.Revision(o.revision), Timeout: o.timeout, ConnectTimeout: o.timeout, Header: header}
	if server.Timeout > 0 && !o.timeoutGiven {
		settings.ConnectTimeout = server.Timeout
	}
	if a := askerFor(env, progress); a != nil {
		settings.Elicit, settings.OpenURL = a.form, a.visit
	}
	var stderr io.Writer
	if o.verbose {
		stderr = env.Err
	}
	c, err := fleet.Connect(ctx, server, settings, stderr)
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return nil, errInterrupted
	}
	var refused *client.HTTPError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		err = fmt.Errorf("%w; nothing listens there: start the server first", err)
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		err = fmt.Errorf("%w; what it wants is sent with --header 'Name: value', or by headers in a configuration file", err)
	}
	if server.Kind == mcpconfig.Stdio && server.Err == nil {
		err = fmt.Errorf("the server %s: %w", plain(server.Name), err)
	}
	return nil, &terminal.UnreachedError{Err: err}
}

// errInterrupted says that somebody did not want to wait.
var errInterrupted = errors.New("interrupted")

// status tells apart what a program has to tell apart.
func status(ctx context.Context, err error) error {
	var unreached *client.ConnectionError
	var unknown *client.NotFoundError
	var usage *terminal.UsageError
	switch {
	case err == nil, errors.As(err, &usage):
		return err
	case ctx.Err() != nil:
		return errInterrupted
	case errors.As(err, &unknown):
		return &terminal.UsageError{Err: err}
	case errors.As(err, &unreached):
		return &terminal.UnreachedError{Err: err}
	}
	return err
}

// A fault is what is said, in JSON, of something that could not be done.
type fault struct {
	OK      bool   `json:"ok"`     // never
	Message string `json:"error"`  // all of it, for people
	Status  int    `json:"status"` // that the program ends with
}

// said does something, and says what went wrong as JSON if that is what is printed, unless it has been said.
func said(env Env, o *options, do func() error) error {
	err := tame(do())
	if already := (*terminal.SaidError)(nil); err == nil || errors.As(err, &already) {
		return err
	}
	if !o.json(env) {
		return err
	}
	if printErr := printJSON(env.Out, fault{Message: err.Error(), Status: terminal.Status(err)}); printErr != nil {
		return errors.Join(err, printErr)
	}
	return &terminal.SaidError{Err: err}
}

// A tamedError is an error whose text does not command a terminal: what a server says may be part of it.
type tamedError struct{ err error }

func (e *tamedError) Error() string { return plain(e.err.Error()) }

func (e *tamedError) Unwrap() error { return e.err }

// tame takes from an error what would command a terminal.
func tame(err error) error {
	if err == nil || plain(err.Error()) == err.Error() {
		return err
	}
	return &tamedError{err}
}
