// Package client is a client of the Model Context Protocol.
//
//	weather := client.Command{Program: "weather", Args: []string{"mcp"}}
//	c, err := client.Start(ctx, weather, client.Options{})
//	…
//	defer c.Close()
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
//
// [Start] runs a server as a child process. [InProcess] connects to an [mcp.Server] in this
// process. [Over] connects over a stream of messages. Package clienthttp connects over HTTP. Client
// and server use the newest revision that both support.
//
// Requests and notifications from the server call the functions of [Options], in all revisions. An
// error response of the server is a [*jsonrpc.Error]. A failed connection or an invalid response is
// a [*ConnectionError]. To use methods that Client has no function for, such as
// resources/subscribe, see [Client.Request].
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/process"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure a [Client]. With the zero value, the client refuses requests from the server.
//
// The client limits the server to 64 MiB and a million JSON values in a message, 100,000 entries,
// 32 MiB and 1000 pages in a list, and 100 requests at a time. Beyond a limit, the request fails
// with an error that names the limit.
type Options struct {
	Info     mcp.Implementation // name and version of the client
	Revision mcp.Revision       // only revision to accept (default: the newest that the server supports)

	// Handshake connects with initialize, without trying server/discover first.
	Handshake bool

	Timeout        time.Duration // from a request to its result or its next progress notification (default 1 minute)
	MaxTimeout     time.Duration // from a request to its result (default 10 minutes)
	ConnectTimeout time.Duration // for connecting (default 30 seconds)

	// Sample answers sampling/createMessage by setting Answer. Set SampleTools if it supports
	// Tools.
	Sample      func(context.Context, *mcp.Sampling) error
	SampleTools bool
	// Elicit answers elicitation/create with a form by setting Action and Content. The client adds
	// the defaults of the form to Content. Key is empty if the server does not send it.
	Elicit func(context.Context, *mcp.Elicitation) error
	// OpenURL answers elicitation/create with a URL by setting Action.
	OpenURL func(context.Context, *mcp.URLElicitation) error
	// Roots answers roots/list.
	Roots func(context.Context) ([]mcp.Root, error)
	// Handle answers all other requests from the server.
	Handle func(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Capabilities are declared in addition to those of the functions above.
	Capabilities mcp.Capabilities

	// Notification receives every notification, in order. It blocks all other messages, so it must
	// return quickly, and must not call the client.
	Notification func(ctx context.Context, method string, params json.RawMessage)

	// Listed receives each complete list that the client has fetched, see [Client.Entries].
	Listed func(method string, entries []json.RawMessage)

	MaxMessage       int          // size limit of a message, in bytes (default 64 MiB)
	MaxNotifications int          // more than this close the connection; 0 means no limit
	Logger           *slog.Logger // for problems that are not returned as errors (optional)
}

// A Client is connected to one server. Its methods may be called concurrently.
//
// Methods return a [*jsonrpc.Error] if the server answers with an error, a [*ConnectionError]
// without a valid answer, and a [*NotFoundError] for a tool that does not exist. Other errors mean
// invalid arguments.
type Client struct {
	o         Options
	transport Transport
	conn      *peer.Conn

	life  context.Context // ends with Close
	close func() error    // may be called repeatedly

	session       atomic.Pointer[session]
	notifications atomic.Int64           // number of notifications, if limited
	inFlight      atomic.Int64           // size of the requests from the server that are being handled
	firstInvalid  atomic.Pointer[string] // first data from the server that was not a message
	renewLock     chan struct{}          // lock of renewSession
	statelessMeta func() ([]byte, error) // members of _meta that every stateless request has

	inProgress sync.Map // of *inProgress, by progress token
	lastToken  atomic.Int64
}

// A session is the result of the handshake or, in stateless revisions, of server/discover.
type session struct {
	Session
	server mcp.Implementation
	result sessionResult
}

// A sessionResult is the result of initialize or server/discover.
type sessionResult struct {
	Revision     mcp.Revision     `json:"protocolVersion"`   // of initialize
	Supported    []mcp.Revision   `json:"supportedVersions"` // of server/discover
	Capabilities mcp.Capabilities `json:"capabilities"`
	Instructions string           `json:"instructions"`
}

// A ConnectionError means that the connection failed or that the server sent no valid answer.
type ConnectionError struct {
	Err error
}

func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Over connects to the server at the other end of a transport. ctx applies to connecting only.
// [Client.Close] closes the transport.
func Over(ctx context.Context, t jsonrpc.Transport, o Options) (*Client, error) {
	return newClient(o).connect(ctx, &streamTransport{stream: t}, t)
}

// InProcess connects to a server in this process. ctx applies to connecting only; the handlers of
// the server inherit its values. [Client.Close] waits for calls in progress.
func InProcess(ctx context.Context, server *mcp.Server, o Options) (*Client, error) {
	ours, theirs := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.WithoutCancel(ctx), theirs) }()
	return newClient(o).connect(ctx, &streamTransport{stream: ours, served: served}, ours)
}

func newClient(o Options) *Client {
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcp-client", Version: "1"}
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), time.Minute)
	o.MaxTimeout = cmp.Or(max(o.MaxTimeout, 0), 10*time.Minute)
	o.ConnectTimeout = cmp.Or(max(o.ConnectTimeout, 0), 30*time.Second)
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), 64<<20)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	c := &Client{o: o, renewLock: make(chan struct{}, 1)}
	c.statelessMeta = sync.OnceValues(c.newStatelessMeta)
	life, endLife := context.WithCancel(context.Background())
	c.life = life
	c.close = sync.OnceValue(func() error {
		endLife()
		return c.transport.Close()
	})
	return c
}

// connect connects over t. stream is nil if t sends and receives all messages itself.
func (c *Client) connect(ctx context.Context, t Transport, stream jsonrpc.Transport) (*Client, error) {
	c.transport = t
	c.conn = peer.NewConn(stream, peer.Options{Handle: c.handle, Grace: -1, MaxInFlight: maxInFlight, Logger: c.o.Logger, OnInvalid: c.onInvalid})
	err := t.Open(ctx, Link{Client: c, Conn: c.conn, Options: c.o, Life: c.life})
	if err != nil {
		err = &ConnectionError{t.Explain(err)}
	} else {
		timeout := &peer.TimeoutError{Method: "the first request", After: c.o.ConnectTimeout}
		ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConnectTimeout, timeout)
		defer cancel()
		err = c.wrapError(c.negotiate(ctx))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// onInvalid logs data that is not a message, and keeps the first.
func (c *Client) onInvalid(raw []byte, err *jsonrpc.Error) {
	text := short(string(raw))
	c.o.Logger.Warn("the server sent an invalid message", "error", err, "text", text)
	c.firstInvalid.CompareAndSwap(nil, &text)
}

// wrapError wraps an error in a [*ConnectionError], unless the server answered with it.
func (c *Client) wrapError(err error) error {
	if err == nil || serverError(err) != nil {
		return err
	}
	if c.o.MaxNotifications > 0 && c.notifications.Load() > int64(c.o.MaxNotifications) {
		err = limitf("more than %d notifications", c.o.MaxNotifications)
	}
	return &ConnectionError{c.transport.Explain(err)}
}

// serverError returns the error with which the server answered, or nil.
func serverError(err error) *jsonrpc.Error {
	if _, invalid := errors.AsType[*peer.AnswerError](err); invalid || errors.Is(err, ErrDenied) {
		return nil
	}
	e, _ := errors.AsType[*jsonrpc.Error](err)
	return e
}

// Revision returns the negotiated revision.
func (c *Client) Revision() mcp.Revision { return c.session.Load().Revision }

// Server returns the name and version of the server.
func (c *Client) Server() mcp.Implementation { return c.session.Load().server }

// Capabilities returns the capabilities of the server.
func (c *Client) Capabilities() mcp.Capabilities { return c.session.Load().result.Capabilities }

// Instructions returns the server's instructions for the model.
func (c *Client) Instructions() string { return c.session.Load().result.Instructions }

// Supported returns the revisions that the server supports, or nil if it does not support
// server/discover.
func (c *Client) Supported() []mcp.Revision { return c.session.Load().result.Supported }

// Close fails all requests in progress, ends the session, and stops the process that [Start]
// started.
func (c *Client) Close() error { return c.close() }

// short shortens a text from the server for an error or a log line.
func short(text string) string { return strictjson.Clip(text, 100) }

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
