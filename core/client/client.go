// Package client is a client of the Model Context Protocol.
//
//	c, err := client.Start(ctx, client.Command{Program: "weather", Args: []string{"mcp"}}, client.Options{})
//	…
//	defer c.Close()
//	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
//
// [Start] runs a server as a child process, [InProcess] connects to a [mcp.Server] of this process,
// and [Over] to one at the other end of a stream of messages. Package clienthttp connects to servers
// over HTTP. Client and server agree on the newest revision that both know.
//
// Requests and notifications of the server go to the functions of [Options], in the same way in all
// revisions. An error is a [*jsonrpc.Error] if the server answered with it, and a [*ConnectionError] if
// there is no valid answer.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure a [Client]. The zero value calls tools, and answers no questions of the server.
//
// Notifications are delivered one after another, in the order in which they arrive. A function that
// takes long does not hold up the next notification, unless a hundred functions run already. All
// functions may call the client.
//
// A server that sends more than the client is willing to keep gets an error, or the request fails
// with one. Both name the limit: 64 MiB and a million JSON values in a message, 100,000 entries,
// 32 MiB and 1000 pages in a list, a hundred requests of the server at a time.
type Options struct {
	Info     mcp.Implementation // name and version of the client
	Revision mcp.Revision       // the only revision to accept; "" is the newest that the server knows

	// Handshake connects with initialize, without trying server/discover first.
	Handshake bool

	Timeout        time.Duration // between a request and its result or the next progress; 0 means a minute
	MaxTimeout     time.Duration // between a request and its result, with any progress; 0 means ten minutes
	ConnectTimeout time.Duration // for connecting; 0 means 30 seconds

	// Sample answers sampling/createMessage: it sets Answer. SampleTools says that it handles Tools.
	Sample      func(context.Context, *mcp.Sampling) error
	SampleTools bool
	// Elicit answers elicitation/create with a form: it sets Action and Content. Defaults of the
	// form are added to Content.
	Elicit func(context.Context, *mcp.Elicitation) error
	// OpenURL answers elicitation/create with a URL: it sets Action.
	OpenURL func(context.Context, *mcp.URLElicitation) error
	// Roots answers roots/list.
	Roots func(context.Context) ([]mcp.Root, error)
	// Handle answers all other requests of the server. nil refuses them.
	Handle func(ctx context.Context, method string, params json.RawMessage) (any, error)
	// Capabilities are declared in addition to those that the functions above stand for.
	Capabilities mcp.Capabilities

	ToolsChanged     func(context.Context)
	PromptsChanged   func(context.Context)
	ResourcesChanged func(context.Context)
	ResourceUpdated  func(ctx context.Context, uri string) // see [Client.Subscribe]
	Log              func(context.Context, LogMessage)
	LogLevel         mcp.Level // the least level for Log; "" is the server's default

	// Notification receives every notification, before the functions above. It holds up all other
	// messages: it must return quickly, and not call the client.
	Notification func(ctx context.Context, method string, params json.RawMessage)

	// Listed receives each complete list that a method of the client asks for, see
	// [Client.Entries].
	Listed func(method string, entries []json.RawMessage)

	MaxMessage       int          // the largest message to accept, in bytes; 0 means 64 MiB
	MaxNotifications int          // more of them end the connection; 0 means no limit
	Logger           *slog.Logger // for problems that no error reports; nil discards them
}

// A LogMessage is a log message of a server.
type LogMessage struct {
	Level  mcp.Level       `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// A Client is connected to one server. Its methods may be called by several goroutines.
//
// An error that the server answers with is a [*jsonrpc.Error]. A [*ConnectionError] says that there
// is no valid answer, a [*NotFoundError] that the server does not have the tool. Other errors are
// about the arguments of the method.
type Client struct {
	o         Options
	transport Transport
	conn      *jsonrpc.Conn

	life     context.Context // ends with Close
	endLife  context.CancelFunc
	closing  sync.Once
	closeErr error

	session  atomic.Pointer[session]
	echoes   atomic.Bool            // the server has sent back a request of ours
	notified atomic.Int64           // notifications, if they are limited
	tooMany  atomic.Bool            // there were more
	renewing chan struct{}          // a lock for renew
	identity func() ([]byte, error) // members of _meta in the stateless era

	mu         sync.Mutex
	held       int                 // messages of the server that are being handled
	heldBytes  int                 // of their params
	inProgress map[string]*request // requests that want progress, by token
	lastToken  int64               // the last progress token
	subscribed map[string]bool     // URIs of resources
	logLevel   mcp.Level
	listener   *listener            // in the stateless era; nil if there is none
	listening  chan struct{}        // a lock for changing listener
	listeners  map[string]*listener // whose requests are in flight, by request id
}

// A session is the outcome of the handshake or, in the stateless era, of server/discover.
type session struct {
	Session
	server       mcp.Implementation
	capabilities mcp.Capabilities
	instructions string
	supported    []mcp.Revision // in the stateless era
}

// isStateless reports whether a revision has no handshake and no sessions.
func isStateless(r mcp.Revision) bool { return r > mcp.LatestHandshake }

// A ConnectionError says that there is no valid answer of the server.
type ConnectionError struct {
	Err error
}

func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// Over connects to the server at the other end of a transport. ctx limits connecting only.
// [Client.Close] closes the transport.
func Over(ctx context.Context, t jsonrpc.Transport, o Options) (*Client, error) {
	return newClient(o).connect(ctx, &streamTransport{stream: t}, t, nil)
}

// InProcess connects to a server of this process, in memory. ctx limits connecting only; the
// handlers of the server see its values. [Client.Close] waits for calls in progress.
func InProcess(ctx context.Context, server *mcp.Server, o Options) (*Client, error) {
	ours, theirs := jsonrpc.Pipe()
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.WithoutCancel(ctx), theirs) }()
	return newClient(o).connect(ctx, &streamTransport{stream: ours, served: served}, ours, nil)
}

func newClient(o Options) *Client {
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcp-client", Version: "1"}
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 30 * time.Second
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{
		o:          o,
		logLevel:   o.LogLevel,
		renewing:   make(chan struct{}, 1),
		listening:  make(chan struct{}, 1),
		inProgress: map[string]*request{},
		subscribed: map[string]bool{},
		listeners:  map[string]*listener{},
	}
	c.identity = sync.OnceValues(c.newIdentity)
	c.life, c.endLife = context.WithCancel(context.Background())
	return c
}

// connect connects over t, whose connection sends to stream. onInvalid may be nil.
func (c *Client) connect(ctx context.Context, t Transport, stream jsonrpc.Transport, onInvalid func([]byte, *jsonrpc.Error)) (*Client, error) {
	if onInvalid == nil {
		onInvalid = func(_ []byte, err *jsonrpc.Error) {
			c.o.Logger.Warn("the server sent an invalid message", "error", err)
		}
	}
	c.transport = t
	c.conn = jsonrpc.NewConn(stream, jsonrpc.Options{Handle: c.handle, Grace: -1, MaxInFlight: maxHeld, Logger: c.o.Logger, OnInvalid: onInvalid})
	err := t.Open(ctx, Link{Client: c, Conn: c.conn, Options: c.o, Life: c.life})
	if err != nil {
		err = &ConnectionError{t.Explain(err)}
	} else {
		late := &jsonrpc.TimeoutError{Method: "the first request", After: c.o.ConnectTimeout}
		ctx, cancel := context.WithTimeoutCause(ctx, c.o.ConnectTimeout, late)
		defer cancel()
		err = c.wrapError(c.negotiate(ctx))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// wrapError makes a [*ConnectionError] of an error that is neither an answer of the server nor about
// the arguments of a method.
func (c *Client) wrapError(err error) error {
	if err == nil || serverError(err) != nil && !c.echoes.Load() {
		return err
	}
	if _, ok := errors.AsType[*ConnectionError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*argumentsError](err); ok {
		return err
	}
	switch {
	case c.echoes.Load():
		err = errors.New("not an MCP server: it sends back every request")
	case c.tooMany.Load():
		err = limitf("it sent more than %d notifications", c.o.MaxNotifications)
	}
	return &ConnectionError{c.transport.Explain(err)}
}

// serverError returns the error that the server has answered with, or nil.
func serverError(err error) *jsonrpc.Error {
	if _, ok := errors.AsType[*jsonrpc.AnswerError](err); ok {
		return nil
	}
	if errors.Is(err, ErrDenied) {
		return nil
	}
	e, _ := errors.AsType[*jsonrpc.Error](err)
	return e
}

// Revision returns the revision that client and server have agreed on.
func (c *Client) Revision() mcp.Revision { return c.session.Load().Revision }

// Server returns the name and version of the server.
func (c *Client) Server() mcp.Implementation { return c.session.Load().server }

// Capabilities returns the capabilities that the server declares.
func (c *Client) Capabilities() mcp.Capabilities { return c.session.Load().capabilities }

// Instructions returns the server's instructions for the model.
func (c *Client) Instructions() string { return c.session.Load().instructions }

// Supported returns the revisions that the server supports, or nil if it has no server/discover.
func (c *Client) Supported() []mcp.Revision { return c.session.Load().supported }

// Done is closed when the connection has ended. Over HTTP only [Client.Close] ends it.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Close fails all requests in progress, ends the session, and ends a process that [Start] has started.
func (c *Client) Close() error {
	c.closing.Do(func() {
		c.endLife()
		c.closeErr = c.transport.Close()
	})
	return c.closeErr
}

// short shortens a text of the server for an error or a log message.
func short(text string) string { return strictjson.Clip(text, 100) }

// unmarshalParams decodes optional params.
func unmarshalParams(raw json.RawMessage, v any) error {
	if raw == nil {
		return nil
	}
	return strictjson.Unmarshal(raw, v)
}
