package jsonrpc

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/petrock/petrock/core/strictjson"
)

// serve handles a message other than a response, on the goroutine that has the turn: it calls the handler and sends the
// answer. It returns the buffer of the answer, for the next one.
func (c *Conn) serve(r *Request, f *fault, buf []byte) []byte {
	if f == nil {
		if id, err := c.register(r); err != nil {
			f = &fault{id: id, err: err}
		} else if c.ordered != nil && !c.ordered[r.Method] && !r.IsNotification() {
			r.declared.Store(true)
		}
	}
	c.turns.latest.Store(r)
	if !c.turns.running.Load() {
		c.turns.start()
	}
	if f != nil {
		c.refuse(r, f)
		return buf
	}
	buf = c.invoke(r, buf)
	c.finish(r, buf)
	return buf
}

// register adds a request to those in flight. If it is refused, register returns the id that the error is sent with.
func (c *Conn) register(r *Request) (ID, *Error) {
	if !r.IsNotification() && !c.unrelated {
		c.mu.Lock()
		defer c.mu.Unlock()
		if (c.inline != nil || len(c.inflight) > 0) && c.lookup(r.ID) != nil {
			return ID{}, Errorf(InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID)
		}
		if len(c.inflight) >= c.maxInFlight {
			return r.ID, Errorf(InternalError, "%d requests are in flight, which is the limit: wait for an answer before the next request", c.maxInFlight)
		}
		if c.inline == nil {
			c.inline = r // a single request needs no entry in the map
		} else {
			c.inflight[r.ID.key()] = r
		}
	}
	c.running.Add(1)
	return r.ID, nil
}

// lookup returns the request in flight with that id, or nil. mu is held.
func (c *Conn) lookup(id ID) *Request {
	key := id.key()
	if c.inline != nil && c.inline.ID.key() == key {
		return c.inline
	}
	return c.inflight[key]
}

// done ends a request or batch that was counted in running.
func (c *Conn) done() {
	if c.running.Add(-1) == 0 && c.draining.Load() {
		c.signalIdle()
	}
}

// signalIdle tells drain, once, if nothing is running.
func (c *Conn) signalIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.Load() == 0 && !c.wasIdle {
		c.wasIdle = true
		close(c.idle)
	}
}

// invoke calls the handler and returns the answer, appended to buf. A panic in the handler fails the request alone.
func (c *Conn) invoke(r *Request, buf []byte) (reply []byte) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.logPanic(r, p)
		reply = c.replyError(nil, r, Errorf(InternalError, "internal error in %s", r.Method))
		if p == nil {
			// runtime.Goexit: this goroutine ends here, so another has to read on.
			c.finish(r, reply)
			r.Release()
		}
	}()
	// The response begins before the handler is called, which appends its result.
	reply = append(append(append(buf, `{"jsonrpc":"2.0","id":`...), r.ID.raw...), `,"result":`...)
	reply, err := c.handle((*requestContext)(r), r, reply)
	if err != nil || r.IsNotification() {
		reply = c.replyError(buf, r, err)
	} else {
		reply = append(reply, '}')
	}
	returned = true
	return reply
}

func (c *Conn) logPanic(r *Request, p any) {
	c.log.Error("a handler panicked", "method", r.Method, "id", r.ID.String(), "panic", p, "stack", string(debug.Stack()))
}

// replyError appends the answer to a request that failed; a notification has none.
func (c *Conn) replyError(dst []byte, r *Request, err error) []byte {
	if r.IsNotification() {
		if err != nil {
			c.log.Warn("received an invalid notification", "method", r.Method, "error", err)
		}
		return dst
	}
	r.failure = err
	e := asError(err)
	if e.Data != nil && strictjson.Check(e.Data) != nil {
		c.log.Error("the data of an error is not valid JSON", "method", r.Method, "error", err)
		e = &Error{Code: e.Code, Message: e.Message}
	}
	return appendError(dst, r.ID, e, false)
}

// encodeResults makes a handler that returns its result one that appends it.
func (c *Conn) encodeResults(handle Handler) AppendHandler {
	return func(ctx context.Context, r *Request, dst []byte) ([]byte, error) {
		result, err := handle(ctx, r)
		if err != nil || r.IsNotification() {
			return dst, err
		}
		dst, err = appendJSON(dst, result)
		if err != nil {
			c.log.Error("encode a result", "method", r.Method, "error", err)
			return dst, fmt.Errorf("encoding the result of %s: %w", r.Method, err)
		}
		return dst, nil
	}
}

// finish removes a request from those in flight and sends its answer, if it gets one.
func (c *Conn) finish(r *Request, reply []byte) {
	defer c.done()
	c.mu.Lock()
	if live := r.live.Load(); live == nil {
		r.live.Store(c.gone)
	} else {
		live.end()
	}
	answered := !r.IsNotification()
	if c.inline == r {
		c.inline = nil
	} else if answered && !c.unrelated {
		delete(c.inflight, r.ID.key())
	}
	if r.cancelled {
		reply = nil
	}
	c.mu.Unlock()
	if answered {
		c.answer(r, reply)
	}
}

// answer sends a reply, or adds it to its batch. A nil reply is not sent.
func (c *Conn) answer(r *Request, reply []byte) {
	after := r.after
	if reply == nil {
		after = nil
	}
	if r.batch != nil {
		var complete bool
		if reply, after, complete = r.batch.add(r.slot, reply, after); !complete {
			return
		}
		defer c.done()
		r.failure = nil // the batch is answered, even if its requests failed
	}
	switch {
	case r.responder != nil:
		r.responder.Respond(reply, r.failure)
	case reply == nil:
		return
	case c.lines == nil:
		if c.send(reply) != nil {
			return // sent has noted the error, which ends Run
		}
	default:
		// Once the answer has its place among the others, the next message may be read while it is written.
		later, _, err := c.lines.put(reply, true)
		if !later && err == nil {
			if !r.declared.Load() {
				r.declare()
			}
			err = c.lines.push()
		}
		if err != nil {
			_ = c.sent(err)
			return
		}
	}
	if len(after) == 0 {
		return
	}
	r.declare()
	for _, f := range after {
		c.callAfter(r, f)
	}
}

// callAfter calls a function of [Request.AfterAnswer]. A panic ends that function alone.
func (c *Conn) callAfter(r *Request, f func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.logPanic(r, p)
		if p == nil {
			r.Release() // as in invoke
		}
	}()
	f()
	returned = true
}
