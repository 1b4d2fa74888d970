// Package jsonrpc speaks JSON-RPC 2.0 over any transport, in both directions at once.
//
//	lines := jsonrpc.NewLines(os.Stdin, os.Stdout, jsonrpc.LinesOptions{})
//	conn := jsonrpc.NewConn(lines, jsonrpc.Options{
//		Handle: func(ctx context.Context, req *jsonrpc.Request) (any, error) {
//			return map[string]string{"you called": req.Method}, nil
//		},
//	})
//	err := conn.Run(ctx)
//
// A [Transport] carries whole messages and does not look into them. A [Conn] matches answers to
// calls, runs handlers, and decides how an invalid message is answered. The handler gives messages
// their meaning.
//
// A request is served by the goroutine that read it, without a switch to another, as long as it is
// quick. [Request] says how order is kept, and how a slow request lets others be read.
//
// Where messages arrive one by one and each has its own response, as over HTTP, there is nothing to
// read from: [Conn.Receive] handles a message that the caller has received, and sends the answer to
// a [Responder].
//
// # Decisions
//
// Where JSON-RPC leaves a choice, or a peer breaks its rules:
//
//   - An id is a string or a whole number, and is echoed byte for byte. Others are an
//     [InvalidRequest].
//   - A request whose id belongs to a request in flight is refused with an error without an id.
//   - An error that belongs to no known id is sent without one, or with a null id if [Dialect] says so.
//   - Keys are case-sensitive: "ID" is not "id". Unknown keys are ignored.
//   - A duplicate key anywhere in a message is an [InvalidRequest], and so is nesting beyond [strictjson.MaxDepth]. Invalid
//     UTF-8 is a [ParseError].
//   - params may be an object or an array; null counts as absent.
//   - An array of messages is a batch if [Dialect] allows it, else an [InvalidRequest]. A batch is refused as a whole if it is
//     not valid JSON, nested too deeply, or longer than 1000 messages; otherwise each message is answered by itself.
//   - Responses and notifications are never answered, even if they are invalid, as long as they can be recognized. Data that
//     is not JSON at all, or too large, is answered unless it looks like a response.
//   - A request beyond [Options].MaxInFlight is refused with an [InternalError]. Notifications and responses are not limited.
//   - An invalid response fails the call that waits for it.
package jsonrpc

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Handler answers a request, or takes a notification. Its result is encoded as JSON. A
// [json.RawMessage] is sent as it is if it is valid JSON, and an [Appender] encodes itself. See
// [Request] for how handlers are called.
type Handler func(ctx context.Context, req *Request) (any, error)

// Options configure a [Conn].
type Options struct {
	// Handle handles incoming requests and notifications. nil refuses every request with
	// [MethodNotFound].
	Handle Handler

	// Ordered are the methods whose requests are handled before the next message is read. Requests
	// of other methods may run concurrently with later ones, as after [Request.MayTakeLong]. nil
	// means all methods. Notifications are always handled in order.
	Ordered map[string]bool

	// Grace is how long requests in flight may go on when the connection ends (default five
	// seconds). A negative value means not at all.
	Grace time.Duration

	// Ending is called once, when the connection begins to end. Messages that still arrive go to
	// the handler. nil means nothing.
	Ending func()

	// MaxInFlight limits the requests in flight; further ones are refused (default 10,000).
	MaxInFlight int

	// UnrelatedPeers says that requests come from different peers by [Conn.Receive], so that their
	// ids may be equal. MaxInFlight and [Conn.Cancel] do not apply.
	UnrelatedPeers bool

	// OnInvalid is called with data from the transport that is neither a valid message nor the
	// answer to a call. The peer then gets no error. raw is nil if the data was too large, and must
	// not be kept. nil means that the peer gets an error.
	OnInvalid func(raw []byte, err *Error)

	// Logger gets errors that the peer does not get (default [slog.Default]).
	Logger *slog.Logger
}

// A Dialect is what differs between revisions of a protocol. The zero value has no batches, and
// errors without an id where the id of the request is unknown.
type Dialect struct {
	Batches bool // an array of messages is a batch
	NullID  bool // an error that belongs to no id has a null id
}

// A Conn is one conversation with a peer. Its methods may be called by several goroutines.
type Conn struct {
	transport Transport
	lines     *lineWriter // of the transport, if that is Lines; it can hold answers back
	o         Options
	dialect   atomic.Pointer[Dialect]

	// ctx is the parent of the contexts of requests. It has the values of the context given to Run,
	// and outlives it by the grace.
	ctx    context.Context
	cancel context.CancelCauseFunc
	gone   *liveContext // for requests whose handler has returned

	ended  chan error    // receives why reading ended
	broken chan struct{} // closed when sending failed
	over   chan struct{} // closed at the end of Run

	turn    chan struct{} // passes the turn to read to a goroutine that waits for it
	waiting atomic.Int32  // the number of those
	turns   turnTimer
	queue   []incoming // the rest of a batch; belongs to the goroutine that has the turn

	running  atomic.Int64  // handlers, and batches not yet answered
	draining atomic.Bool   // drain waits for running to be 0
	idle     chan struct{} // closed when it is

	kept sync.Pool // of *pending, for further calls

	mu       sync.Mutex
	inline   *Request            // one request in flight: a single one needs no map
	inflight map[string]*Request // the others, by the key of the id
	wasIdle  bool                // idle is closed
	calls    map[int64]*pending  // our own, by id
	lastID   int64
	closed   bool  // no answer to a call will come
	failure  error // why sending failed
}

// NewConn returns a connection over t. [Conn.Run] or [Conn.Open] starts it.
func NewConn(t Transport, o Options) *Conn {
	if o.Handle == nil {
		o.Handle = func(_ context.Context, req *Request) (any, error) {
			return nil, Errorf(MethodNotFound, "no method %q", req.Method)
		}
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.MaxInFlight <= 0 {
		o.MaxInFlight = 10_000
	}
	if o.Ending == nil {
		o.Ending = func() {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	c := &Conn{
		transport: t,
		o:         o,
		ended:     make(chan error, 1),
		broken:    make(chan struct{}),
		over:      make(chan struct{}),
		turn:      make(chan struct{}),
		idle:      make(chan struct{}),
		inflight:  make(map[string]*Request),
		calls:     make(map[int64]*pending),
	}
	c.turns.keepsTooLong, c.turns.tick = c.keepsTooLong, func() {}
	if l, ok := t.(*Lines); ok {
		c.lines = l.out
		c.lines.failed = func(err error) { _ = c.sent(err) }
		c.turns.tick = c.lines.endOldBurst
	}
	c.dialect.Store(&Dialect{})
	return c
}

// SetDialect changes how messages are read and written from here on.
func (c *Conn) SetDialect(d Dialect) { c.dialect.Store(&d) }

// Done is closed when the connection has ended: at the end of [Conn.Run], or of [Conn.Close].
func (c *Conn) Done() <-chan struct{} { return c.over }

// Run reads and serves messages until the peer closes the connection, ctx ends or the transport
// fails. Then it lets requests in flight finish within the grace, cancels the others, and closes
// the transport. It returns an error only if the transport failed. It is called once.
//
// If ctx ends during the grace after the peer closed the connection, the grace ends too.
func (c *Conn) Run(ctx context.Context) error {
	c.Open(ctx)
	defer close(c.over)
	defer c.turns.stop()
	go c.read()

	var err error
	hurry := ctx.Done()
	select {
	case err = <-c.ended:
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case <-ctx.Done():
		hurry = nil
	case <-c.broken:
		c.mu.Lock()
		err = c.failure
		c.mu.Unlock()
	}
	c.drain(hurry)
	c.Abandon()
	if closeErr := c.transport.Close(); closeErr != nil {
		c.o.Logger.Warn("close the transport", "error", closeErr)
	}
	return err
}

// drain waits for running handlers: for the grace, and a second more once their contexts have ended.
func (c *Conn) drain(hurry <-chan struct{}) {
	defer c.cancel(ErrClosed)
	c.o.Ending()
	c.draining.Store(true)
	c.signalIdle()

	grace := time.NewTimer(max(c.o.Grace, 0))
	defer grace.Stop()
	select {
	case <-c.idle:
		return
	case <-grace.C:
	case <-hurry:
	case <-c.broken:
	}
	c.cancel(ErrClosed)
	last := time.NewTimer(time.Second)
	defer last.Stop()
	select {
	case <-c.idle:
	case <-last.C:
		c.mu.Lock()
		left := slices.Collect(maps.Values(c.inflight))
		if c.inline != nil {
			left = append(left, c.inline)
		}
		c.mu.Unlock()
		for _, r := range left {
			c.o.Logger.Warn("a request is still running at the end of the connection", "method", r.Method, "id", r.ID.String())
		}
	}
}

// send hands a message to the transport. An error ends the connection.
func (c *Conn) send(msg []byte) error {
	return c.sent(c.transport.Send(msg))
}

func (c *Conn) sent(err error) error {
	if err == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
		close(c.broken)
	}
	return err
}
