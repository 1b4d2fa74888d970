// Package peer runs one end of a JSON-RPC connection. It is plumbing for petrock's own protocols,
// clients and transports; servers and programs that call servers do not need it.
//
// # Connections
//
// A [Conn] reads messages from a transport, matches answers to calls, runs handlers and answers
// invalid messages. Both peers can send requests:
//
//	lines := jsonrpc.NewLines(os.Stdin, os.Stdout, jsonrpc.LinesOptions{})
//	conn := peer.NewConn(lines, peer.Options{
//		Handle: func(ctx context.Context, req *peer.Request) (any, error) {
//			return map[string]string{"you called": req.Method()}, nil
//		},
//	})
//	err := conn.Run(ctx)
//
// [Conn.Do] calls the peer. Over HTTP, each message arrives separately and has its own response:
// [Conn.Receive] handles such a message and sends the answer to a [Responder].
//
// # Scheduling
//
// The goroutine that reads a request also serves it, as long as the handler is quick. See [Request]
// for the order of requests, and for handlers that take long.
//
// # Decisions
//
// In addition to those of package jsonrpc:
//
//   - A request that reuses the id of a request in flight is refused. The error has no id.
//   - An error for an unknown id is sent without an id, or with a null id if [Dialect] requires it.
//   - An array of messages is a batch if [Dialect] allows it, else a [jsonrpc.InvalidRequest]. Its
//     answers are sent together, as an array, unless the batch is refused as a whole.
//   - Messages that are recognized as responses or notifications are never answered, even if they
//     are invalid. Other data that is too large or not valid JSON is answered.
//   - A request beyond [Options].MaxInFlight is refused with a [jsonrpc.InternalError].
//     Notifications and responses are not limited.
//   - An invalid response fails the call that waits for it.
//
// In the source, conn.go has the life of a connection. receive.go and serve.go follow a request
// from the transport to its answer, turn.go decides which goroutine does it, and outgoing.go has
// calls to the peer.
package peer

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/internal/burst"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A Handler handles a request or a notification. Its result is encoded by [jsonrpc.AppendResult]. A
// [*jsonrpc.Error] is sent unchanged; a [jsonrpc.Code] is sent as an error with that code, and any
// other error as a [jsonrpc.InternalError]. See [Request] for how handlers are called.
type Handler func(ctx context.Context, req *Request) (any, error)

// Options configure a [Conn].
type Options struct {
	// Handle handles incoming requests and notifications. nil refuses every request with
	// [jsonrpc.MethodNotFound].
	Handle Handler

	// Ordered are the methods whose requests are handled before the next message is read. Requests
	// of other methods may run concurrently with later ones. nil means all methods. Notifications
	// are always handled in order.
	Ordered map[string]bool

	// Grace is how long requests in flight may continue when the connection ends (default five
	// seconds). A negative value cancels them immediately.
	Grace time.Duration

	// OnShutdown is called once, when the connection begins to end. Messages that arrive later
	// still go to the handler. It may be nil.
	OnShutdown func()

	// MaxInFlight limits the requests in flight; further ones are refused (default 10,000).
	MaxInFlight int

	// UnrelatedPeers means that the messages of [Conn.Receive] come from different peers, so
	// requests may have equal ids. MaxInFlight and [Conn.Cancel] do not apply.
	UnrelatedPeers bool

	// OnInvalid is called with data from the transport that is neither a valid message nor the
	// answer to a call. It replaces the error response to the peer. raw is nil if the data was too
	// large, and must not be kept. If OnInvalid is nil, the peer gets an error.
	OnInvalid func(raw []byte, err *jsonrpc.Error)

	// Logger logs errors that are not sent to the peer (default [slog.Default]).
	Logger *slog.Logger
}

// A Dialect holds the differences between revisions of a protocol. The zero value has no batches,
// and omits the id of an error if the id of the request is unknown.
type Dialect struct {
	Batches bool // an array of messages is a batch
	NullID  bool // an error for an unknown id has a null id
}

// A Conn is a connection to a peer. Several goroutines may call its methods.
type Conn struct {
	transport jsonrpc.Transport
	lines     *burst.Writer // of a Lines transport, else nil; it can hold answers back
	o         Options
	dialect   atomic.Pointer[Dialect]

	// ctx is the parent of the contexts of requests. It has the values of the context given to Run,
	// and ends after the grace period.
	ctx      context.Context
	cancel   context.CancelCauseFunc
	finished *liveContext // for requests whose handler has returned

	readErr  chan error      // the error that ended reading
	sending  context.Context // ends with the error of the first failed send
	failSend context.CancelCauseFunc
	done     chan struct{} // closed at the end of Run

	turn    chan struct{} // passes the turn to read to a waiting goroutine
	waiting atomic.Int32  // goroutines that wait for the turn
	turns   turnTimer
	queue   []Request // the rest of a batch; belongs to the goroutine that has the turn

	running  atomic.Int64    // handlers, and batches not yet answered
	draining atomic.Bool     // drain waits for running to be 0
	busy     context.Context // ends when running is 0 while draining
	setIdle  context.CancelFunc

	mu       sync.Mutex
	single   *Request            // a request in flight outside of inflight, to save a map entry, or nil
	inflight map[string]*Request // the other requests in flight, by the key of the id
	calls    map[int64]*pending  // outgoing calls, by id
	lastID   int64
	closed   bool // pending calls have failed, and new ones fail
}

// ErrCancelled is the cause of the context of a request that the peer cancelled.
var ErrCancelled = errors.New("the peer cancelled the request")

// NewConn returns a connection over t. [Conn.Run] or [Conn.Open] starts it.
func NewConn(t jsonrpc.Transport, o Options) *Conn {
	if o.Handle == nil {
		o.Handle = func(_ context.Context, req *Request) (any, error) {
			return nil, jsonrpc.Errorf(jsonrpc.MethodNotFound, "no method %q", req.Method())
		}
	}
	o.MaxInFlight = cmp.Or(max(o.MaxInFlight, 0), 10_000)
	o.Grace, o.Logger = cmp.Or(o.Grace, 5*time.Second), cmp.Or(o.Logger, slog.Default())
	c := &Conn{
		transport: t,
		o:         o,
		readErr:   make(chan error, 1),
		done:      make(chan struct{}),
		turn:      make(chan struct{}),
		inflight:  make(map[string]*Request),
		calls:     make(map[int64]*pending),
	}
	c.turns.conn = c
	c.sending, c.failSend = context.WithCancelCause(context.Background())
	c.busy, c.setIdle = context.WithCancel(context.Background())
	if l, ok := t.(interface{ Writer() *burst.Writer }); ok { // jsonrpc.Lines, or a transport that embeds it
		c.lines = l.Writer()
		c.lines.OnError = c.failSend
	}
	c.dialect.Store(&Dialect{})
	return c
}

// SetDialect sets the dialect of all further messages.
func (c *Conn) SetDialect(d Dialect) { c.dialect.Store(&d) }

// Done returns a channel that is closed at the end of [Conn.Run] or [Conn.Close].
func (c *Conn) Done() <-chan struct{} { return c.done }

// Run reads and serves messages until the peer closes the connection, ctx ends or the transport
// fails. Then it lets requests in flight finish within the grace period, cancels the rest, and
// closes the transport. It returns an error only if the transport failed. Call it once.
//
// The grace period also ends if ctx ends after the peer has closed the connection.
func (c *Conn) Run(ctx context.Context) error {
	c.Open(ctx)
	defer close(c.done)
	defer c.turns.stop()
	go c.read()

	var err error
	skipGrace := ctx.Done()
	select {
	case err = <-c.readErr:
		if errors.Is(err, io.EOF) {
			err = nil
		}
	case <-ctx.Done():
		skipGrace = nil
	case <-c.sending.Done():
		err = context.Cause(c.sending)
	}
	c.drain(skipGrace)
	c.FailCalls()
	if closeErr := c.transport.Close(); closeErr != nil {
		c.o.Logger.Warn("close transport", "error", closeErr)
	}
	return err
}

// drain waits for running handlers. After the grace period it ends their contexts and waits for one
// more second.
func (c *Conn) drain(skipGrace <-chan struct{}) {
	defer c.cancel(jsonrpc.ErrClosed)
	if c.o.OnShutdown != nil {
		c.o.OnShutdown()
	}
	c.draining.Store(true)
	if c.running.Load() == 0 {
		c.setIdle()
	}
	select {
	case <-c.busy.Done():
		return
	case <-time.After(max(c.o.Grace, 0)):
	case <-skipGrace:
	case <-c.sending.Done():
	}
	c.cancel(jsonrpc.ErrClosed)
	select {
	case <-c.busy.Done():
	case <-time.After(time.Second):
		c.mu.Lock()
		left := slices.Collect(maps.Values(c.inflight))
		if c.single != nil {
			left = append(left, c.single)
		}
		c.mu.Unlock()
		for _, r := range left {
			c.o.Logger.Warn("request still running at the end of the connection", "method", r.Method(), "id", r.ID().String())
		}
	}
}

// send passes a message to the transport. An error ends the connection.
func (c *Conn) send(msg []byte) error {
	err := c.transport.Send(msg)
	if err != nil {
		c.failSend(err)
	}
	return err
}
