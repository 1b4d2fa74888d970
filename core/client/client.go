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
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
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
	// the defaults of the form to Content.
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
	if _, ok := errors.AsType[*peer.AnswerError](err); ok {
		return nil
	}
	if errors.Is(err, ErrDenied) {
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
