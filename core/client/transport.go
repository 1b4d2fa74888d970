package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/process"
)

// A Transport sends requests and notifications to a server, for [Connect]. Package clienthttp
// implements it. For a stream of messages, use [Over] instead.
type Transport interface {
	// Open starts the connection l.Conn. It is called once, before the other methods. If it fails,
	// Close is called.
	Open(ctx context.Context, l Link) error

	// Via returns the function that sends a request, see [peer.Outgoing]. For initialize, the
	// function sets s.ID.
	Via(s *Session, c Call) func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error

	// Notify sends a notification.
	Notify(ctx context.Context, s *Session, method string, params any) error

	// Begin is called at the start of a session, before its first request.
	Begin(ctx context.Context, s *Session)

	// End ends a session that the client no longer uses.
	End(s *Session)

	// FilterTools returns the tools that can be called over this transport.
	FilterTools(s *Session, all []mcp.Tool) []mcp.Tool

	// Explain adds details about the cause of an error, such as the URL or the exit code of the
	// server.
	Explain(err error) error

	// Close ends the current session and the connection.
	Close() error
}

// A Session describes a session to a [Transport].
type Session struct {
	Revision mcp.Revision // "" for initialize
	ID       string       // may be empty
}

// IsStateless reports whether the revision has no handshake and no sessions.
func (s *Session) IsStateless() bool { return s.Revision > mcp.LatestHandshake }

// A Call describes a request to a [Transport].
type Call struct {
	Method    string
	Name      string          // tool, prompt or resource; may be empty
	Arguments json.RawMessage // of a tool or prompt; may be nil
}

// A Link connects a [Transport] to its client.
type Link struct {
	Client  *Client
	Conn    *peer.Conn      // handles messages from the server; the transport opens and closes it
	Options Options         // with defaults applied
	Life    context.Context // ends when the client is closed
}

// Errors of a [Transport] match one of these if the server did not answer with MCP.
var (
	ErrDenied      = errors.New("the client lacks permission")
	ErrRefused     = errors.New("the server refused the message") // it may support only other revisions
	ErrLostSession = errors.New("the server has lost the session")
)

// Connect connects over a transport. ctx applies to connecting only.
func Connect(ctx context.Context, t Transport, o Options) (*Client, error) {
	return newClient(o).connect(ctx, t, nil)
}

type streamTransport struct {
	c      *Client
	stream jsonrpc.Transport
	served <-chan error // result of [mcp.Server.Serve]; nil unless the server is in this process
}

func (t *streamTransport) Open(_ context.Context, l Link) error {
	t.c = l.Client
	go func() {
		_ = l.Conn.Run(context.Background()) // requests fail with its error
	}()
	return nil
}

func (t *streamTransport) Via(*Session, Call) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return nil
}

func (t *streamTransport) Notify(ctx context.Context, _ *Session, method string, params any) error {
	return t.c.conn.Notify(ctx, method, params)
}

func (t *streamTransport) Begin(context.Context, *Session) {}

func (t *streamTransport) End(*Session) {}

func (t *streamTransport) FilterTools(_ *Session, all []mcp.Tool) []mcp.Tool { return all }

func (t *streamTransport) Explain(err error) error { return err }

func (t *streamTransport) Close() error {
	err := t.stream.Close()
	<-t.c.conn.Done()
	if t.served != nil {
		err = errors.Join(err, <-t.served)
	}
	if err != nil && !errors.Is(err, jsonrpc.ErrClosed) {
		return fmt.Errorf("close connection: %w", err)
	}
	return nil
}

// A Command is a program that serves MCP over stdio.
type Command = process.Command

// Start starts a server as a child process and connects to it. The process runs until
// [Client.Close]. ctx applies to connecting only. Some older servers exit when they receive
// server/discover. Start restarts such a server and sends initialize first.
func Start(ctx context.Context, cmd Command, o Options) (*Client, error) {
	c, err := start(ctx, cmd, o)
	if err == nil || o.Revision != "" || o.Handshake || ctx.Err() != nil {
		return c, err
	}
	if failed, ok := errors.AsType[*ProcessError](err); !ok || !failed.early {
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
	return c.connect(ctx, t, lines)
}

type processTransport struct {
	streamTransport
	process *process.Process
}

// A ProcessError is the cause of a [*ConnectionError] if the server runs as a child process. If the
// program cannot be started, the cause is another error.
type ProcessError struct {
	Err    error
	Stderr string // the end of the server's standard error, which Error includes

	early bool // the server exited before the session started
}

func (e *ProcessError) Error() string {
	if e.Stderr == "" {
		return e.Err.Error()
	}
	return e.Err.Error() + "\nIts standard error:\n" + e.Stderr
}

// Unwrap returns the cause.
func (e *ProcessError) Unwrap() error { return e.Err }

// Explain adds the exit state of the process, and the end of its standard error.
func (t *processTransport) Explain(err error) error {
	if errors.Is(err, jsonrpc.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		t.process.ExitsWithin(time.Second) // it may close its pipes before it exits
	}
	early := false
	if state := t.process.ExitState(); state != "" && t.c.life.Err() == nil {
		early = t.c.session.Load() == nil
		err = fmt.Errorf("the server exited (%s): %w", state, err)
	}
	if stray := t.c.firstInvalid.Load(); stray != nil {
		err = fmt.Errorf("%w\nThe server wrote to standard output: %q; only MCP messages belong there, write logs to standard error", err, *stray)
	}
	return &ProcessError{err, t.process.Stderr(), early}
}

func (t *processTransport) Close() error {
	t.process.Close()
	<-t.c.conn.Done()
	return nil
}
