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

// read serves messages until there are no more, or until a handler that it runs
// has released the reading to another goroutine.
func (c *Conn) read() {
	for {
		in, err := c.next()
		if err != nil {
			c.ended <- err
			return
		}
		if !c.serve(in) {
			return
		}
	}
}

// next returns the next message: what is left of a batch, or a new one.
func (c *Conn) next() (incoming, error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		var lost *MessageError
		if errors.As(err, &lost) {
			return incoming{fault: &fault{lost.ID, lost.Response, lost.Err}}, nil
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

// refuse answers a message that is not a good one, unless it answers us.
func (c *Conn) refuse(in incoming) {
	f := in.fault
	if f.response {
		c.log.Warn("a response was not understood", "id", f.id.String(), "error", f.err)
		if !f.id.IsZero() {
			c.deliver(message{id: f.id, err: f.err})
		}
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
		if !r.IsNotification() {
			c.answer(r.batch, r.slot, appendError(nil, err.id, err.err, c.dialect.Load().NullID))
		}
		return true
	}
	result, err := c.invoke(context.WithValue(ctx, requestKey{}, r), r)
	c.finish(r, result, err)
	return !r.released.Load()
}

// begin enters a request among those in flight, or says why it cannot be.
func (c *Conn) begin(r *Request) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.draining {
		return &fault{id: r.ID, err: Errorf(InternalError, "the connection is closing")}
	}
	if !r.IsNotification() {
		key := r.ID.key()
		if c.inflight[key] != nil {
			return &fault{err: Errorf(InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID)}
		}
		c.inflight[key] = r
	}
	c.running++
	return nil
}

// invoke calls the handler. A panic in it ends the request and nothing else.
func (c *Conn) invoke(ctx context.Context, r *Request) (result any, err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.log.Error("a handler panicked", "method", r.Method, "id", r.ID.String(), "panic", p, "stack", string(debug.Stack()))
		err = Errorf(InternalError, "internal error in %s", r.Method)
		if p == nil {
			// runtime.Goexit: this goroutine ends here, so another has to read on.
			c.finish(r, nil, err)
			r.Release()
		}
	}()
	result, err = c.handle(ctx, r)
	returned = true
	return result, err
}

// finish takes a request from among those in flight and sends its answer, if one is wanted.
func (c *Conn) finish(r *Request, result any, err error) {
	var reply []byte
	if r.IsNotification() {
		if err != nil {
			c.log.Warn("a notification was not understood", "method", r.Method, "error", err)
		}
	} else {
		reply = c.reply(r, result, err)
	}
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
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.draining && c.running == 0 {
		close(c.idle)
	}
}

// reply encodes the answer to a request.
func (c *Conn) reply(r *Request, result any, err error) []byte {
	if err == nil {
		raw, encodeErr := marshal(result)
		if encodeErr == nil {
			return appendResult(make([]byte, 0, len(raw)+64), r.ID, raw)
		}
		c.log.Error("encoding a result", "method", r.Method, "error", encodeErr)
		err = fmt.Errorf("encoding the result of %s: %w", r.Method, encodeErr)
	}
	return appendError(nil, r.ID, asError(err), false)
}

// answer sends a reply, or puts it into its batch. A nil reply is none.
func (c *Conn) answer(b *batch, slot int, reply []byte) {
	if b != nil {
		reply = b.add(slot, reply)
	}
	if reply != nil {
		// An error is kept by send and ends Run.
		_ = c.send(reply)
	}
}
