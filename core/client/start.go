package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/child"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A Command is a program that serves MCP over its standard input and output.
type Command struct {
	Program string
	Args    []string
	Env     map[string]string // beyond the environment of this process
	Dir     string            // where it runs; "" is where this process does

	// Stderr is written what the server writes to its standard error, as it comes; the last of it is part of error
	// messages in any case. nil is nowhere.
	Stderr io.Writer

	// Patience is how long the server may take to end when its input is closed, and again when it is told to; then it is
	// killed. 0 means two seconds.
	Patience time.Duration
}

// String is the command as one would type it, more or less.
func (cmd Command) String() string {
	return strings.Join(append([]string{cmd.Program}, cmd.Args...), " ")
}

// Start starts a server and begins to speak to it. It runs until [Client.Close]; ctx is for the first conversation alone. A server
// that ends when it is asked for its revision, as some do that know none but the older ones, is started again.
func Start(ctx context.Context, cmd Command, o ClientOptions) (*Client, error) {
	c, err := start(ctx, cmd, o, false)
	if err == nil || o.Revision != "" || ctx.Err() != nil {
		return c, err
	}
	var early *endedEarlyError
	if !errors.As(err, &early) {
		return nil, err
	}
	if again, againErr := start(ctx, cmd, o, true); againErr == nil {
		return again, nil
	}
	return nil, err
}

// start starts a server, and asks it for nothing but the handshake if that is said.
func start(ctx context.Context, cmd Command, o ClientOptions, handshake bool) (*Client, error) {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(cmd.Env)) {
		env = append(env, name+"="+cmd.Env[name])
	}
	process, err := child.Start(cmd.Program, child.Options{Args: cmd.Args, Env: env, Dir: cmd.Dir, Stderr: cmd.Stderr, Patience: cmd.Patience})
	if err != nil {
		return nil, &ConnectionError{err}
	}
	c := newClient(o)
	c.handshake = handshake
	lines := jsonrpc.NewLines(process.Out, process.In, jsonrpc.LinesOptions{MaxMessage: c.o.MaxMessage})
	r := &processRoute{plainRoute: plainRoute{c: c, transport: lines}, process: process}
	c.route = r
	c.overTransport(lines, r)
	return c.begun(ctx)
}

// processRoute is that to a server which this client has started.
type processRoute struct {
	plainRoute
	process *child.Process

	mu      sync.Mutex
	garbage string // the first line that was no message
}

// An endedEarlyError says that a server ended in the first conversation.
type endedEarlyError struct{ err error }

func (e *endedEarlyError) Error() string { return e.err.Error() }

func (e *endedEarlyError) Unwrap() error { return e.err }

// stray keeps what came over standard output and is no message, for an error to quote.
func (r *processRoute) stray(raw []byte, err *jsonrpc.Error) {
	r.c.o.Logger.Warn("the server wrote to its standard output what is no message", "error", err, "text", short(string(raw)))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.garbage == "" {
		r.garbage = short(string(raw))
	}
}

// explain says how the process ended, if it has, and what it said.
func (r *processRoute) explain(err error) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		select {
		case <-r.process.Done():
		case <-time.After(time.Second): // its input and output may be closed before it ends
		}
	}
	early := false
	if ended := r.process.Ended(); ended != "" && r.c.life.Err() == nil {
		early = r.c.told.Load() == nil
		err = fmt.Errorf("%w: the server ended (%s)", unclosed(err), ended)
	}
	r.mu.Lock()
	garbage := r.garbage
	r.mu.Unlock()
	if garbage != "" {
		err = fmt.Errorf("%w\nIt writes to its standard output what is no MCP, which belongs on standard error: %q", err, garbage)
	}
	if said := r.process.Said(); said != "" {
		err = fmt.Errorf("%w\nIts standard error:\n%s", err, said)
	}
	if early {
		return &endedEarlyError{err}
	}
	return err
}

// unclosed leaves out that the connection is closed, where there is more to say.
func unclosed(err error) error {
	if text, ok := strings.CutSuffix(err.Error(), ": "+jsonrpc.ErrClosed.Error()); ok {
		return errors.New(text)
	}
	return err
}

// close ends the server: its input first.
func (r *processRoute) close() error {
	err := r.process.Close()
	<-r.c.conn.Done()
	return err
}
