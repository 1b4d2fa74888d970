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
// In the source, conn.go has the types, and what all of them use. receive.go has the life of a
// connection; with serve.go, it follows a request from the transport to its answer. turn.go decides
// which goroutine does it, and outgoing.go has calls to the peer.
package peer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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
	// SkipGrace cancels requests in flight immediately when the context of [Conn.Run] ends.
	SkipGrace bool

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

// An AnswerError means that an answer is invalid.
type AnswerError struct {
	Method string
	Err    *jsonrpc.Error
}

func (e *AnswerError) Error() string { return fmt.Sprintf("invalid answer to %s: %v", e.Method, e.Err) }

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }

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
	if l, ok := t.(interface {
		Writer(func(error)) *burst.Writer
	}); ok { // jsonrpc.Lines, or a transport that embeds it
		c.lines = l.Writer(c.failSend)
	}
	c.dialect.Store(&Dialect{})
	return c
}

// SetDialect sets the dialect of all further messages.
func (c *Conn) SetDialect(d Dialect) { c.dialect.Store(&d) }

// Done returns a channel that is closed at the end of [Conn.Run] or [Conn.Close].
func (c *Conn) Done() <-chan struct{} { return c.done }

// send passes a message to the transport. An error ends the connection.
func (c *Conn) send(msg []byte) error {
	err := c.transport.Send(msg)
	if err != nil {
		c.failSend(err)
	}
	return err
}

// A Request is an incoming request or notification.
//
// Handlers are called on the goroutine that reads, in the order in which messages arrive. The next
// message is read when the handler returns or releases the request. See [Request.Release] and
// [Options].Ordered for handlers that take long.
//
// The context of a request ends when the peer cancels it, at the end of the grace period of the
// connection, or when the handler has returned.
type Request struct {
	jsonrpc.Message // valid, and a request or a notification, when a handler gets it

	conn  *Conn
	batch *batch // nil if the request is not part of a batch
	slot  int    // of the answer in the batch
	after []func()

	parent    context.Context // the context given to Conn.Receive, else nil
	responder Responder       // the one given to Conn.Receive, else nil
	failure   error           // why the request failed

	live       atomic.Pointer[liveContext]
	turn       atomic.Int32 // keepsTurn, passedTurn or servedTurn
	concurrent atomic.Bool  // the request may run concurrently with later ones
	cancelled  bool         // guarded by conn.mu
}

// IsNotification reports whether the request is a notification, which has no id and no answer.
func (r *Request) IsNotification() bool { return r.ID().IsZero() }

// InBatch reports whether the request is part of a batch.
func (r *Request) InBatch() bool { return r.batch != nil }

// Responder returns the responder given to [Conn.Receive], or nil if the request came over the
// transport.
func (r *Request) Responder() Responder { return r.responder }

// AfterAnswer registers f to be called after the transport has queued the answer to the request.
// Functions are called in order. They are not called for a notification, in a batch, nor if the
// peer has cancelled the request or disconnected. When f is called, the context of the request has
// ended, and if f takes long, the next message is read. The handler must call AfterAnswer before it
// returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// A Responder sends the answer to a message of [Conn.Receive], after the notifications and calls of
// its handler. Several goroutines may use it.
type Responder interface {
	// Send sends a message that belongs to the request, and does not keep the slice. It does not
	// wait for the peer. An error means that the peer will not get the message.
	Send(msg []byte) error

	// Buffer returns an empty slice that the answer may be appended to, or nil.
	Buffer() []byte

	// Respond sends the answer. It is called once, before Receive returns, and Send is not called
	// afterwards. err is the error of a failed request, or nil. msg is nil if the peer cancelled
	// the request.
	Respond(msg []byte, err error)
}

// An Outgoing is an outgoing call with all its options.
type Outgoing struct {
	Method string
	Params any // encoded by [jsonrpc.AppendRequest]; nil omits them

	// IdleTimeout limits the wait for the answer; [Conn.ResetIdleTimeout] restarts it. MaxTimeout
	// limits the call as a whole. 0 means no limit. The error is a [*TimeoutError].
	IdleTimeout, MaxTimeout time.Duration

	// Via sends the message instead of the transport. It may wait for the answer and pass it to
	// [Conn.Receive] or [Conn.Deliver], or return nil and let the call wait. It may keep msg. Its
	// context ends with that of the call, at a timeout, when Receive gets the answer, and when Do
	// has returned and done has been called. Via calls done before it returns, or later if it
	// leaves a goroutine running. If Via is nil, the transport sends the message.
	Via func(ctx context.Context, done func(), id jsonrpc.ID, msg []byte) error

	// OnID is called with the id before the call is sent. It may be nil.
	OnID func(jsonrpc.ID)

	number int64 // its id; guarded by Conn.mu
}

// A pending call waits for its answer.
type pending struct {
	o        Outgoing
	stop     context.CancelCauseFunc // ends the call
	answer   chan answer             // buffers one answer
	timer    *time.Timer             // calls stop; nil if the call has no timeout
	deadline time.Time               // zero without MaxTimeout

	returned bool // Do has returned; guarded by Conn.mu
	sent     bool // Via is not running; guarded by Conn.mu
}

// An answer is the result or the error of a call.
type answer struct {
	result json.RawMessage
	err    error
}

// deliver passes the response with that id to the call that waits for it. f is not nil if the
// response is invalid. stop ends the context of the call.
func (c *Conn) deliver(id jsonrpc.ID, m *jsonrpc.Message, f *jsonrpc.MessageError, stop bool) {
	number, _ := strconv.ParseInt(id.String(), 10, 64) // no call has the number 0
	c.mu.Lock()
	p := c.calls[number]
	delete(c.calls, number)
	c.mu.Unlock()
	if p == nil {
		c.o.Logger.Debug("received a response to an unknown call", "id", id.String())
		return
	}
	a := answer{result: m.Result()}
	if f != nil {
		a.err = &AnswerError{p.o.Method, f.Err}
	} else if m.Err() != nil {
		a.err = m.Err()
	}
	p.answer <- a
	if stop {
		p.stop(nil)
	}
}

// FailCalls fails all pending and future calls with [jsonrpc.ErrClosed].
func (c *Conn) FailCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.calls {
		p.stop(jsonrpc.ErrClosed)
	}
	clear(c.calls)
}

// A requestKey is the key of the request in a context.
type requestKey struct{}
