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

// Options are what a [Conn] is made with.
type Options struct {
	// Handle answers incoming requests and takes incoming notifications. See [Request]
	// for how it is called. Its result is encoded as JSON; a [json.RawMessage] that
	// holds good JSON goes out as it is, and an [Appender] writes itself.
	// nil refuses every request with [MethodNotFound].
	Handle func(ctx context.Context, req *Request) (any, error)

	// Grace is how long requests in flight may go on once the connection is to
	// end. 0 means five seconds; a negative value means not at all.
	Grace time.Duration

	// Ending is called once, when the connection begins to end. What still comes is handed
	// to Handle, which may want to refuse it from then on. nil means nothing.
	Ending func()

	// MaxInFlight is how many requests may be in flight at once; one more is refused.
	// 0 means 10,000.
	MaxInFlight int

	// UnrelatedPeers says that requests come from different peers, which know nothing of each other's ids: all ids are
	// good, and MaxInFlight and [Conn.Cancel] do not apply. It is for [Conn.Receive] alone.
	UnrelatedPeers bool

	// Stray is told what came over the transport and is neither a good message nor the answer to a call, and why; the peer is
	// not told then. raw is nil if it was too large to be read, and is not to be kept. nil means that the peer is told.
	Stray func(raw []byte, err *Error)

	// Logger is told what the peer cannot be told. nil means [slog.Default].
	Logger *slog.Logger
}

// A Dialect is what differs between revisions of a protocol. The zero value is plain
// requests alone, and no id on an error that belongs to none.
type Dialect struct {
	Batches bool // an array of messages is a batch
	NullID  bool // an error that belongs to no id carries a null one
}

// A Conn is one conversation. Its methods may be called by several goroutines.
type Conn struct {
	transport Transport
	held      holder // the transport, if it is one
	handle    func(ctx context.Context, req *Request) (any, error)
	grace     time.Duration
	most      int // requests in flight
	unrelated bool
	ending    func()
	stray     func(raw []byte, err *Error)
	log       *slog.Logger
	dialect   atomic.Pointer[Dialect]

	// ctx is the parent of the contexts of requests. It carries the values of the
	// context given to Run, and outlives it by the grace.
	ctx    context.Context
	cancel context.CancelCauseFunc
	gone   *liveContext // for requests whose handler has returned
	watch  watchdog

	ended  chan error    // receives why reading ended
	broken chan struct{} // closed when sending failed
	over   chan struct{} // closed at the end of Run

	// turn hands the reading to a goroutine that has served its request and waits
	// for another; waiting counts those.
	turn    chan struct{}
	waiting atomic.Int32

	// queue holds what is left of a batch. It belongs to the goroutine that reads.
	queue []incoming

	running  atomic.Int64  // handlers, and batches not yet answered
	draining atomic.Bool   // Run waits for running to be 0
	idle     chan struct{} // closed when it is

	kept sync.Pool // calls whose answers have come, for the next

	mu       sync.Mutex
	inline   *Request            // the request that is being served and keeps the reading, or one that was taken: one alone costs no map
	inflight map[string]*Request // the others, by the key of the id
	wasIdle  bool                // idle is closed
	calls    map[int64]*pending  // ours, by their ids
	lastID   int64
	closed   bool  // no answer to a call will come
	failure  error // why sending failed
}

// NewConn returns a connection over t. [Conn.Run] sets it going.
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
		handle:    o.Handle,
		grace:     max(o.Grace, 0),
		most:      o.MaxInFlight,
		unrelated: o.UnrelatedPeers,
		ending:    o.Ending,
		stray:     o.Stray,
		log:       o.Logger,
		ended:     make(chan error, 1),
		broken:    make(chan struct{}),
		over:      make(chan struct{}),
		turn:      make(chan struct{}),
		idle:      make(chan struct{}),
		inflight:  make(map[string]*Request),
		calls:     make(map[int64]*pending),
	}
	c.watch.tooLong, c.watch.looked = c.tooLong, func() {}
	if c.held, _ = t.(holder); c.held != nil {
		c.held.onFailure(func(err error) { _ = c.sent(err) })
		c.watch.looked = c.held.flushOld
	}
	c.dialect.Store(&Dialect{})
	return c
}

// SetDialect changes how messages are read and written from here on.
func (c *Conn) SetDialect(d Dialect) { c.dialect.Store(&d) }

// Done is closed when the connection has ended: at the end of [Conn.Run], or of [Conn.Close].
func (c *Conn) Done() <-chan struct{} { return c.over }

// Run reads and serves messages until the peer has no more, ctx ends or the
// transport breaks; then it lets requests in flight finish within the grace,
// cancels those that have not, and closes the transport. It returns nil for the
// first two ends and the transport's error for the third. It is called once.
//
// If ctx ends while requests are finishing because the peer had no more to say,
// the grace ends too.
func (c *Conn) Run(ctx context.Context) error {
	c.Open(ctx)
	defer close(c.over)
	defer c.watch.stop()
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
		c.log.Warn("closing the transport", "error", closeErr)
	}
	return err
}

// drain waits for the handlers that run: for the grace, and a moment more once
// they have been told to stop.
func (c *Conn) drain(hurry <-chan struct{}) {
	defer c.cancel(ErrClosed)
	c.ending()
	c.draining.Store(true)
	c.tellIdle()

	grace := time.NewTimer(c.grace)
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
			c.log.Warn("a request is still running at the end of the connection", "method", r.Method, "id", r.ID.String())
		}
	}
}

// send hands a message to the transport. If that fails, the connection is over.
func (c *Conn) send(msg []byte) error {
	return c.sent(c.transport.Send(msg))
}

// sent takes note of what became of sending.
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
