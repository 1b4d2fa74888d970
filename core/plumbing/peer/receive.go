package peer

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/petrock/petrock/core/jsonrpc"
)

// maxKept limits the buffer of an answer that is reused, in bytes.
const maxKept = 64 << 10

// read reads and serves messages until the transport ends. After a request that passed the turn to
// another goroutine, read waits for its next turn.
func (c *Conn) read() {
	var buf []byte     // of the last answer, reused for the next one
	var spare *Request // that no handler has seen
	for {
		if spare == nil {
			spare = &Request{conn: c}
		}
		r, f, err := c.next(spare)
		if err != nil {
			c.FailCalls()
			c.readErr <- err
			return
		}
		if f == nil && r.IsResponse() {
			c.deliver(r.ID(), &r.Message, nil, true)
			continue
		}
		if r == spare {
			spare = nil
		}
		if buf = c.serve(r, f, buf[:0]); cap(buf) > maxKept {
			buf = nil
		}
		// After this, a goroutine of the handler can no longer release the request.
		if !r.turn.CompareAndSwap(keepsTurn, servedTurn) && !c.awaitTurn() {
			return
		}
	}
}

// next returns the next message of the current batch, or else of the transport, which it reads into
// spare. f is not nil if the message is invalid or was lost.
func (c *Conn) next(spare *Request) (r *Request, f *jsonrpc.MessageError, err error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		if err != nil {
			lost, ok := errors.AsType[*jsonrpc.MessageError](err)
			if !ok {
				return nil, nil, err
			}
			f = lost
		} else if spare.Parse(raw); !spare.IsBatch() {
			f = spare.Fault()
		} else if c.queue, f = c.splitBatch(&spare.Message); f == nil {
			break
		}
		if f == nil || f.Response || c.o.OnInvalid == nil {
			return spare, f, nil
		}
		c.o.OnInvalid(raw, f.Err)
	}
	r, c.queue = &c.queue[0], c.queue[1:]
	return r, r.Fault(), nil
}

// refuse answers an invalid message as r, unless it is a response or a notification.
func (c *Conn) refuse(r *Request, f *jsonrpc.MessageError) {
	switch {
	case f.Response:
		c.o.Logger.Warn("received an invalid response", "id", f.ID.String(), "error", f.Err)
		c.deliver(f.ID, &r.Message, f, true)
	case f.Notification:
		c.o.Logger.Warn("received an invalid notification", "error", f.Err)
	default:
		r.failure = f.Err
		id := f.ID
		if id.IsZero() && c.dialect.Load().NullID {
			id = jsonrpc.NullID
		}
		c.answer(r, jsonrpc.AppendError(nil, id, f.Err))
	}
}

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

// Open starts a connection that is used with [Conn.Receive] instead of [Conn.Run]. Its transport
// only sends messages that belong to no request. Handlers see the values of ctx.
func (c *Conn) Open(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.finished = newLiveContext(context.WithoutCancel(ctx))
	c.finished.cancel(nil)
}

// Close ends a connection that was started with [Conn.Open]. Requests in flight may finish within
// the grace period, or until skipGrace is closed.
func (c *Conn) Close(skipGrace <-chan struct{}) {
	c.drain(skipGrace)
	c.FailCalls()
	c.turns.stop()
	close(c.done)
}

// Receive handles a parsed message on the goroutine of the caller. Despite its type, r may be any
// message or batch, because most are requests, which then need no copy. Several goroutines may call
// Receive, and messages do not wait for one another. The answer to a request, or to a batch that
// has requests, goes to the responder. The context of a request has the values of ctx, and also
// ends when ctx does. Pass a message to Receive at most once.
func (c *Conn) Receive(ctx context.Context, r *Request, responder Responder) {
	if !r.IsBatch() {
		c.receive(ctx, r, r.Fault(), responder)
		return
	}
	parts, f := c.splitBatch(&r.Message)
	if f != nil {
		c.receive(ctx, r, f, responder)
	}
	var all sync.WaitGroup
	for i := range parts {
		part := &parts[i]
		if part.IsRequest() {
			all.Go(func() { c.receive(ctx, part, nil, responder) })
		} else {
			c.receive(ctx, part, part.Fault(), responder)
		}
	}
	all.Wait()
}

// Deliver completes a pending call without cancelling the context of its [Outgoing].Via.
func (c *Conn) Deliver(m *jsonrpc.Message) { c.deliver(m.ID(), m, m.Fault(), false) }

// receive handles one message of [Conn.Receive]. f is not nil if the message is invalid. The
// request never has the turn.
func (c *Conn) receive(ctx context.Context, r *Request, f *jsonrpc.MessageError, responder Responder) {
	r.conn, r.parent, r.responder = c, ctx, responder
	r.turn.Store(passedTurn)
	r.concurrent.Store(true)
	if f == nil && r.IsResponse() {
		c.deliver(r.ID(), &r.Message, nil, true)
		return
	}
	if f == nil {
		f = c.register(r)
	}
	if f != nil {
		c.refuse(r, f)
		return
	}
	var buf []byte
	if r.batch == nil && !r.IsNotification() {
		buf = responder.Buffer()
	}
	c.finish(r, c.invoke(r, buf))
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

// Notify sends a notification that belongs to the request. It returns when the transport or the
// [Responder] has queued it, or when ctx ends before the transport has room for it. Do not call it
// after the request has been answered.
func (r *Request) Notify(ctx context.Context, method string, params any) error {
	if r.responder != nil {
		return notify(r.responder.Send, method, params)
	}
	return r.conn.Notify(ctx, method, params)
}

// AfterAnswer registers f to be called after the transport has queued the answer to the request.
// Functions are called in order. They are not called for a notification, in a batch, nor if the
// peer has cancelled the request or disconnected. When f is called, the context of the request has
// ended, and if f takes long, the next message is read. The handler must call AfterAnswer before it
// returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// Cancel ends the context of the request with that id and suppresses its answer. It reports whether
// the request was in flight.
func (c *Conn) Cancel(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.lookup(id)
	if r == nil {
		return false
	}
	r.cancelled = true
	r.ensureLive().cancel(ErrCancelled)
	return true
}

// A batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	missing int      // answers not yet added
}

// splitBatch returns the messages of a batch, or an error if the batch is refused as a whole.
func (c *Conn) splitBatch(m *jsonrpc.Message) ([]Request, *jsonrpc.MessageError) {
	parts, err := m.Batch()
	if !c.dialect.Load().Batches {
		err = jsonrpc.Errorf(jsonrpc.InvalidRequest, "batches are not part of this protocol revision; send one message at a time")
	}
	if err != nil {
		return nil, &jsonrpc.MessageError{Err: err}
	}
	b := &batch{}
	list := make([]Request, len(parts))
	for i, part := range parts {
		r := &list[i]
		r.Message, r.conn, r.batch, r.slot = part, c, b, b.missing
		if f := r.Fault(); f != nil && !f.Response && !f.Notification || r.IsRequest() {
			b.missing++
		}
	}
	b.answers = make([][]byte, b.missing)
	if b.missing > 0 {
		c.running.Add(1) // until the batch is answered
	}
	return list, nil
}

// add stores an answer; nil means that none is sent. With the last answer, it returns complete as
// true, and the array of answers, or nil if it is empty.
func (b *batch) add(slot int, answer []byte) (all []byte, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[slot] = bytes.Clone(answer)
	if b.missing--; b.missing > 0 {
		return nil, false
	}
	answers := slices.DeleteFunc(b.answers, func(a []byte) bool { return a == nil })
	if len(answers) == 0 {
		return nil, true
	}
	return slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}), true
}
