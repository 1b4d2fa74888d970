package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// ClientOptions are the choices for a [Client]. The zero value is a client that calls, and answers no questions.
//
// Functions that are told of something, such as Logged, are called one after another, in the order in which
// things came; one that takes long is overtaken by the next. All may call the client.
type ClientOptions struct {
	Info     Implementation // who the client is; a name of no meaning if empty
	Revision Revision       // the only one to speak; "" means the newest that both know

	Timeout    time.Duration // how long to wait for an answer, or for the next progress of a call that asks for it; 0 means a minute
	MaxTimeout time.Duration // how long to wait for an answer in all, whatever the progress; 0 means ten minutes
	Connect    time.Duration // how long the first conversation may take; 0 means 30 seconds

	Sample      func(context.Context, *Sampling) error       // answers a question to the model: sets Answer; nil says that there is none
	SampleTools bool                                         // Sample knows what to do with Tools
	Elicit      func(context.Context, *Elicitation) error    // has a form filled in: sets Action and Content; defaults are filled in behind it
	Visit       func(context.Context, *URLElicitation) error // has a page opened: sets Action
	Roots       func(context.Context) ([]Root, error)        // tells what the person works on

	ToolsChanged     func(context.Context) // the server has other tools now
	PromptsChanged   func(context.Context)
	ResourcesChanged func(context.Context)
	ResourceUpdated  func(ctx context.Context, uri string) // of one that was subscribed to
	Logged           func(context.Context, LogMessage)
	Notified         func(ctx context.Context, method string, params json.RawMessage) // is told of every notification, before the others are

	LogLevel   Level        // from which level on to be told; "" leaves it to the server
	MaxMessage int          // the largest message taken, in bytes; 0 means 64 MiB
	Logger     *slog.Logger // is told what the server is not to be told; nil means nowhere

	// What follows is for servers over HTTP.

	Header http.Header                               // sent with each request, such as an API key
	Token  func(ctx context.Context) (string, error) // the bearer token to send; asked again when the server refuses one
	HTTP   *http.Client                              // nil means one of its own, which follows no redirect to another host
	SSE    bool                                      // begin with the transport of 2024-11-05, HTTP with SSE, as "type": "sse" in a configuration says
}

// A LogMessage is what a server logs for its client.
type LogMessage struct {
	Level  Level           `json:"level"`
	Logger string          `json:"logger,omitempty"`
	Data   json.RawMessage `json:"data"`
}

// A Client speaks to one server. Its methods may be called by several goroutines. An error that the server answers with is a
// [*jsonrpc.Error]; a [*ConnectionError] says that there was no answer, or none that makes sense; a [*NotOfferedError] that the server does
// not have what was asked for. Any other is about what was given.
type Client struct {
	o         ClientOptions
	handshake bool // there is no other era on this route
	route     route
	conn      *jsonrpc.Conn

	life  context.Context // ends with the client
	end   context.CancelFunc
	close sync.Once
	err   error // of closing

	told   atomic.Pointer[terms]
	echoes atomic.Bool            // the server has sent what only a client sends
	again  chan struct{}          // has room for whoever begins a session anew
	card   func() ([]byte, error) // the members of _meta in revisions without sessions

	mu       sync.Mutex
	followed map[string]*outgoing // those that want to know how far they have come, by their tokens
	tokens   int64
	headers  map[string][]HeaderArgument // of tools, by their names
	wanted   map[string]bool             // resources that are subscribed to
	level    Level
	listen   *listening    // in revisions without sessions; nil if there is none
	relisten chan struct{} // has room for whoever changes that
	acks     map[string]chan<- struct{}
}

// Terms are what is known of a server since the first conversation with it.
type terms struct {
	revision     Revision
	server       Implementation
	capabilities Capabilities
	instructions string
	supported    []Revision // what the server says it speaks, if it does
	session      string     // what the server calls it, over HTTP, if it does
}

// A route is how messages get to a server.
type route interface {
	// via is how a request goes out, or nil for the connection's own transport.
	via(a *terms, r *outgoing) func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error

	// notify sends a notification.
	notify(ctx context.Context, a *terms, method string, params any) error

	// begin is called when a session has begun, before anything else is asked.
	begin(ctx context.Context, a *terms)

	// leave ends what was begun on terms that nobody will call on.
	leave(a *terms)

	// lost reports whether an error says that the server has forgotten the session.
	lost(err error) bool

	// explain adds to an error of the connection what the route knows of its cause.
	explain(err error) error

	// isHTTP reports whether each request has headers, and a way back of its own that can be closed.
	isHTTP() bool

	// close ends the way to the server.
	close() error
}

// A ConnectionError says that a server was not reached, or is not to be understood: that there is no answer.
type ConnectionError struct {
	Err error
}

func (e *ConnectionError) Error() string { return e.Err.Error() }

// Unwrap is the error inside.
func (e *ConnectionError) Unwrap() error { return e.Err }

// ClientOver is a client of the server at the other end of a transport, which it closes in the end. ctx is for the first
// conversation alone.
func ClientOver(ctx context.Context, t jsonrpc.Transport, o ClientOptions) (*Client, error) {
	c := newClient(o)
	c.overTransport(t, &plainRoute{c: c, transport: t})
	return c.begun(ctx)
}

func newClient(o ClientOptions) *Client {
	if o.Info.Name == "" {
		o.Info = Implementation{Name: "mcp-client", Version: "1"}
	}
	if o.Timeout <= 0 {
		o.Timeout = time.Minute
	}
	if o.MaxTimeout <= 0 {
		o.MaxTimeout = 10 * time.Minute
	}
	if o.Connect <= 0 {
		o.Connect = 30 * time.Second
	}
	if o.MaxMessage <= 0 {
		o.MaxMessage = 64 << 20
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{o: o, level: o.LogLevel, headers: map[string][]HeaderArgument{}, wanted: map[string]bool{}, followed: map[string]*outgoing{}, acks: map[string]chan<- struct{}{}}
	c.again, c.relisten = make(chan struct{}, 1), make(chan struct{}, 1)
	c.card = sync.OnceValues(c.newCard)
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// overTransport sets a connection over a transport going.
func (c *Client) overTransport(t jsonrpc.Transport, r route) {
	c.route = r
	c.conn = jsonrpc.NewConn(t, c.connOptions())
	go func() {
		_ = c.conn.Run(context.Background()) // calls are told that it has ended, and the route knows why
	}()
}

// connOptions are those of the connection, whatever carries it.
func (c *Client) connOptions() jsonrpc.Options {
	o := jsonrpc.Options{Handle: c.handle, Grace: -1, Logger: c.o.Logger}
	if s, ok := c.route.(interface {
		stray(raw []byte, err *jsonrpc.Error)
	}); ok {
		o.Stray = s.stray
	} else {
		o.Stray = func(_ []byte, err *jsonrpc.Error) {
			c.o.Logger.Warn("the server sent what is no message", "error", err)
		}
	}
	return o
}

// begun has the first conversation, and ends the client if that comes to nothing.
func (c *Client) begun(ctx context.Context) (*Client, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Connect, &jsonrpc.TimeoutError{Method: "the first request", After: c.o.Connect})
	defer cancel()
	if err := c.agree(ctx); err != nil {
		err = c.failed(err)
		c.Close()
		return nil, err
	}
	return c, nil
}

// failed tells an error of the connection from an answer.
func (c *Client) failed(err error) error {
	if err == nil || answeredWith(err) != nil && !c.echoes.Load() {
		return err
	}
	var connection *ConnectionError
	var given *givenError
	if errors.As(err, &connection) || errors.As(err, &given) {
		return err
	}
	if c.echoes.Load() {
		err = errors.New("it sends back what it is sent: it is no MCP server")
	}
	return &ConnectionError{c.route.explain(err)}
}

// answeredWith is the error that the server has answered with, or nil.
func answeredWith(err error) *jsonrpc.Error {
	var broken *jsonrpc.AnswerError
	var refused *HTTPError
	if errors.As(err, &broken) || errors.As(err, &refused) && (refused.said == nil || refused.denied()) {
		return nil
	}
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Revision is what client and server have agreed on.
func (c *Client) Revision() Revision { return c.told.Load().revision }

// Server is who the server says it is.
func (c *Client) Server() Implementation { return c.told.Load().server }

// Capabilities are what the server says it can do.
func (c *Client) Capabilities() Capabilities { return c.told.Load().capabilities }

// Instructions are what the server tells the model.
func (c *Client) Instructions() string { return c.told.Load().instructions }

// Supported are the revisions that the server says it speaks, if it does: those of [Latest] do.
func (c *Client) Supported() []Revision { return c.told.Load().supported }

// Done is closed when the connection has ended, because of the client or of the server. One over HTTP ends with the client alone.
func (c *Client) Done() <-chan struct{} { return c.conn.Done() }

// Close ends the client: calls in flight end with an error, the session ends, and a process that was started for it does.
func (c *Client) Close() error {
	c.close.Do(func() {
		c.end()
		c.err = c.route.close()
	})
	return c.err
}

// plainRoute is that of a transport which somebody else has made.
type plainRoute struct {
	c         *Client
	transport jsonrpc.Transport
}

func (r *plainRoute) via(*terms, *outgoing) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return nil
}

func (r *plainRoute) notify(ctx context.Context, _ *terms, method string, params any) error {
	return r.c.conn.Notify(ctx, method, params)
}

func (r *plainRoute) begin(context.Context, *terms) {}

func (r *plainRoute) leave(*terms) {}

func (r *plainRoute) lost(error) bool { return false }

func (r *plainRoute) explain(err error) error { return err }

func (r *plainRoute) isHTTP() bool { return false }

func (r *plainRoute) close() error {
	err := r.transport.Close()
	<-r.c.conn.Done()
	if errors.Is(err, jsonrpc.ErrClosed) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("closing the connection: %w", err)
	}
	return nil
}
