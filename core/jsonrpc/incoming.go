package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/petrock/petrock/core/strictjson"
)

// incoming is a message as it was received, with its place in a batch, if any.
type incoming struct {
	message
	fault *fault
	batch *batch
	slot  int
}

// read serves messages until there are no more. When a handler that it runs has
// released the reading to another goroutine, it waits for its turn to come again.
func (c *Conn) read() {
	for {
		in, err := c.next()
		if err != nil {
			c.abandonCalls()
			c.ended <- err
			return
		}
		if !c.serve(in) && !c.awaitTurn() {
			return
		}
	}
}

// mostIdle is how many goroutines wait for a turn to read. A goroutine that has grown
// its stack for one request is worth keeping for the next, but not one for each of a burst.
const mostIdle = 4

// awaitTurn waits until the reading is handed to this goroutine. It reports false
// if there is no need to wait.
func (c *Conn) awaitTurn() bool {
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > mostIdle {
		return false
	}
	select {
	case <-c.turn:
		return true
	case <-c.over:
		return false
	}
}

// passTurn lets another goroutine read.
func (c *Conn) passTurn() {
	select {
	case c.turn <- struct{}{}:
	default:
		go c.read()
	}
}

// next returns the next message: what is left of a batch, or a new one.
func (c *Conn) next() (incoming, error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		var lost *MessageError
		if errors.As(err, &lost) {
			return incoming{fault: &fault{lost.ID, lost.Response, false, lost.Err}}, nil
		}
		if err != nil {
			return incoming{}, err
		}
		if strictjson.First(raw) == '[' {
			c.queue = c.unpack(raw)
			continue
		}
		m, f := parse(raw)
		return incoming{message: m, fault: f}, nil
	}
	in := c.queue[0]
	c.queue = c.queue[1:]
	return in, nil
}

// serve deals with one message and reports whether this goroutine is still the one that reads.
func (c *Conn) serve(in incoming) bool {
	switch {
	case in.fault != nil:
		c.refuse(in)
	case in.method == "":
		c.deliver(in.message)
	default:
		r := &Request{ID: in.id, Method: in.method, Params: in.params, conn: c, batch: in.batch, slot: in.slot}
		return c.run(r)
	}
	return true
}

// refuse answers a message that is not a good one, if it is one to be answered.
func (c *Conn) refuse(in incoming) {
	f := in.fault
	switch {
	case f.response:
		c.log.Warn("a response was not understood", "id", f.id.String(), "error", f.err)
		if !f.id.IsZero() {
			c.deliver(message{id: f.id, err: f.err})
		}
		return
	case f.notification:
		c.log.Warn("a notification was not understood", "error", f.err)
		return
	}
	c.answer(in.batch, in.slot, appendError(nil, f.id, f.err, c.dialect.Load().NullID))
}

// run calls the handler of a request or notification and answers the request.
func (c *Conn) run(r *Request) bool {
	ctx, cancel := context.WithCancelCause(c.ctx)
	r.cancel = cancel
	defer cancel(nil)
	if err := c.begin(r); err != nil {
		c.answer(r.batch, r.slot, appendError(nil, ID{}, err, c.dialect.Load().NullID))
		return true
	}
	c.finish(r, c.invoke(context.WithValue(ctx, requestKey{}, r), r))
	// From here on it is too late to release: a goroutine that the handler left
	// behind might still try to.
	return r.released.CompareAndSwap(false, true)
}

// begin enters a request among those in flight, or says why it cannot be.
func (c *Conn) begin(r *Request) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !r.IsNotification() {
		key := r.ID.key()
		if c.inflight[key] != nil {
			return Errorf(InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID)
		}
		c.inflight[key] = r
	}
	c.running++
	return nil
}

// hold makes Run wait for one thing more.
func (c *Conn) hold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
}

// letGo is the end of what begin or hold began.
func (c *Conn) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.tellIdle()
}

// tellIdle tells Run, once, that there is nothing to wait for. mu is held.
func (c *Conn) tellIdle() {
	if c.draining && c.running == 0 && !c.wasIdle {
		c.wasIdle = true
		close(c.idle)
	}
}

// invoke calls the handler and encodes its answer. A panic in either ends the
// request and nothing else.
func (c *Conn) invoke(ctx context.Context, r *Request) (reply []byte) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.log.Error("a handler panicked", "method", r.Method, "id", r.ID.String(), "panic", p, "stack", string(debug.Stack()))
		reply = c.reply(r, nil, Errorf(InternalError, "internal error in %s", r.Method))
		if p == nil {
			// runtime.Goexit: this goroutine ends here, so another has to read on.
			c.finish(r, reply)
			r.Release()
		}
	}()
	result, err := c.handle(ctx, r)
	reply = c.reply(r, result, err)
	returned = true
	return reply
}

// finish takes a request from among those in flight and sends its answer, if one is wanted.
func (c *Conn) finish(r *Request, reply []byte) {
	c.mu.Lock()
	if !r.IsNotification() {
		delete(c.inflight, r.ID.key())
		if r.cancelled {
			reply = nil
		}
	}
	c.mu.Unlock()
	if !r.IsNotification() {
		c.answer(r.batch, r.slot, reply)
		if r.after != nil && reply != nil {
			r.after()
		}
	}
	c.letGo()
}

// reply encodes the answer to a request; a notification has none.
func (c *Conn) reply(r *Request, result any, err error) []byte {
	if r.IsNotification() {
		if err != nil {
			c.log.Warn("a notification was not understood", "method", r.Method, "error", err)
		}
		return nil
	}
	if err == nil {
		raw, encodeErr := marshal(result)
		if encodeErr == nil {
			return appendResult(make([]byte, 0, len(raw)+64), r.ID, raw)
		}
		c.log.Error("encoding a result", "method", r.Method, "error", encodeErr)
		err = fmt.Errorf("encoding the result of %s: %w", r.Method, encodeErr)
	}
	e := asError(err)
	if e.Data != nil && strictjson.Check(e.Data) != nil {
		c.log.Error("the data of an error is not JSON", "method", r.Method, "error", err)
		e = &Error{Code: e.Code, Message: e.Message}
	}
	return appendError(nil, r.ID, e, false)
}

// answer sends a reply, or puts it into its batch. A nil reply is none.
func (c *Conn) answer(b *batch, slot int, reply []byte) {
	if b != nil {
		all, complete := b.add(slot, reply)
		if complete {
			defer c.letGo()
		}
		reply = all
	}
	if reply != nil {
		// An error is kept by send and ends Run.
		_ = c.send(reply)
	}
}
