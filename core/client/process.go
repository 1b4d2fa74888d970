package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/process"
)

// A Command is a program that serves MCP over stdio.
type Command = process.Command

// Start starts a server as a child process and connects to it. The process runs until [Client.Close].
// ctx applies to connecting only. Some older servers exit when they receive server/discover. Start
// restarts such a server and sends initialize first.
func Start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	c, err := start(ctx, cmd, o)
	if err == nil || o.Revision != "" || o.Handshake || ctx.Err() != nil {
		return c, err
	}
	if _, ok := errors.AsType[*earlyExitError](err); !ok {
		return nil, err
	}
	o.Handshake = true
	if again, againErr := start(ctx, cmd, o); againErr == nil {
		return again, nil
	}
	return nil, err
}

func start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	p, err := process.Start(cmd)
	if err != nil {
		return nil, &ConnectionError{err}
	}
	c := newClient(o)
	lines := jsonrpc.NewLines(p.Out, p.In, jsonrpc.LinesOptions{MaxMessage: c.o.MaxMessage})
	t := &processTransport{streamTransport: streamTransport{stream: lines}, process: p}
	return c.connect(ctx, t, lines, t.onInvalid)
}

type processTransport struct {
	streamTransport
	process *process.Process
	stray   atomic.Pointer[string] // first line of standard output that was not a message
}

// An earlyExitError means that the server exited before the session started.
type earlyExitError struct{ error }

func (e *earlyExitError) Unwrap() error { return e.error }

// onInvalid logs a line of standard output that is not a message, and keeps the first one.
func (t *processTransport) onInvalid(raw []byte, err *jsonrpc.Error) {
	text := short(string(raw))
	t.c.o.Logger.Warn("the server wrote a line to standard output that is not a message", "error", err, "text", text)
	t.stray.CompareAndSwap(nil, &text)
}

// Explain adds the exit state of the process, and the end of its standard error.
func (t *processTransport) Explain(err error) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		t.process.ExitsWithin(time.Second) // it may close its pipes before it exits
	}
	early := false
	if state := t.process.ExitState(); state != "" && t.c.life.Err() == nil {
		early = t.c.session.Load() == nil
		if text, ok := strings.CutSuffix(err.Error(), ": "+jsonrpc.ErrClosed.Error()); ok {
			err = errors.New(text)
		}
		err = fmt.Errorf("%w: the server exited (%s)", err, state)
	}
	if stray := t.stray.Load(); stray != nil {
		err = fmt.Errorf("%w\nThe server wrote to standard output: %q; only MCP messages belong there, write logs to standard error", err, *stray)
	}
	if text := t.process.Stderr(); text != "" {
		err = fmt.Errorf("%w\nIts standard error:\n%s", err, text)
	}
	if early {
		return &earlyExitError{err}
	}
	return err
}

func (t *processTransport) Close() error {
	t.process.Close()
	<-t.c.conn.Done()
	return nil
}
