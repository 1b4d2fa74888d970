package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A Command is a program that serves MCP over its standard input and output.
type Command struct {
	Program string
	Args    []string
	Env     map[string]string // added to the environment of this process
	Dir     string            // working directory; "" is that of this process

	// Stderr receives the standard error of the server. nil discards it. Error messages quote the end of
	// it either way.
	Stderr io.Writer

	// Grace is how long the server may take to exit after its input is closed, and again after SIGTERM.
	// Then it is killed. 0 means two seconds.
	Grace time.Duration
}

// String is the command line, without quoting.
func (cmd Command) String() string {
	return strings.Join(append([]string{cmd.Program}, cmd.Args...), " ")
}

// Start starts a server as a child process and connects to it. The process runs until [Client.Close];
// ctx limits connecting only. Some servers that know older revisions only exit when they receive
// server/discover: Start runs those again, with initialize as the first request.
func Start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	c, err := start(ctx, cmd, o, false)
	if err == nil || o.Revision != "" || ctx.Err() != nil {
		return c, err
	}
	if _, ok := errors.AsType[*earlyExitError](err); !ok {
		return nil, err
	}
	if again, againErr := start(ctx, cmd, o, true); againErr == nil {
		return again, nil
	}
	return nil, err
}

func start(ctx context.Context, cmd Command, o Options, handshake bool) (*Client, error) {
	p, err := startProcess(cmd)
	if err != nil {
		return nil, &ConnectionError{err}
	}
	c := newClient(o)
	c.handshake = handshake
	lines := jsonrpc.NewLines(p.out, p.in, jsonrpc.LinesOptions{MaxMessage: c.o.MaxMessage})
	r := &processRoute{streamRoute: streamRoute{c: c, transport: lines}, process: p}
	return c.connect(ctx, lines, r)
}

// processRoute is the route to a child process.
type processRoute struct {
	streamRoute
	process *process

	mu    sync.Mutex
	stray string // the first line of standard output that was not a message
}

// An earlyExitError says that the server exited before it was connected.
type earlyExitError struct{ err error }

func (e *earlyExitError) Error() string { return e.err.Error() }

func (e *earlyExitError) Unwrap() error { return e.err }

// onStray logs a line of standard output that is not a message, and keeps the first one.
func (r *processRoute) onStray(raw []byte, err *jsonrpc.Error) {
	text := short(string(raw))
	r.c.o.Logger.Warn("the server wrote a line that is not a message to its standard output", "error", err, "text", text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stray == "" {
		r.stray = text
	}
}

// explain adds how the process exited, and the end of its standard error.
func (r *processRoute) explain(err error) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		r.process.exitsWithin(time.Second) // it may close its input and output earlier
	}
	early := false
	if state := r.process.exitState(); state != "" && r.c.life.Err() == nil {
		early = r.c.session.Load() == nil
		if text, ok := strings.CutSuffix(err.Error(), ": "+jsonrpc.ErrClosed.Error()); ok {
			err = errors.New(text)
		}
		err = fmt.Errorf("%w: the server exited (%s)", err, state)
	}
	r.mu.Lock()
	stray := r.stray
	r.mu.Unlock()
	if stray != "" {
		err = fmt.Errorf("%w\nIt writes to standard output what is not MCP; logs belong on standard error: %q", err, stray)
	}
	if text := r.process.stderr.String(); text != "" {
		err = fmt.Errorf("%w\nIts standard error:\n%s", err, text)
	}
	if early {
		return &earlyExitError{err}
	}
	return err
}

func (r *processRoute) close() error {
	r.process.close()
	<-r.c.conn.Done()
	return nil
}
