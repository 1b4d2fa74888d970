package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

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
		if !c.o.SkipGrace {
			skipGrace = nil
		}
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

// drain waits for running handlers. After the grace period it ends their contexts and waits for
// lastWait.
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
	case <-time.After(lastWait):
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

// lastWait is how long requests in flight may continue after they are cancelled at the end of a
// connection, so that a process ends within a second of a signal.
const lastWait = 700 * time.Millisecond

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

// A batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	missing int      // answers not yet added
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
