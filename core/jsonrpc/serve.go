package jsonrpc

import (
	"fmt"
	"runtime/debug"

	"github.com/petrock/petrock/core/strictjson"
)

// run calls the handler of a request or notification and answers the request. It returns
// the buffer of the answer, and whether this goroutine is still the one that reads.
func (c *Conn) run(r *Request, buf []byte) ([]byte, bool) {
	if id, err := c.begin(r); err != nil {
		return buf, c.refuseRequest(r, id, err)
	}
	c.watch.begin(r)
	reply := c.invoke(r, buf)
	c.finish(r, reply)
	// From here on it is too late to release: a goroutine that the handler left
	// behind might still try to.
	return reply, r.turn.CompareAndSwap(keepsTurn, servedTurn)
}

// begin enters a request among those in flight, or says why it cannot be, and under
// which id.
func (c *Conn) begin(r *Request) (ID, *Error) {
	if !r.IsNotification() && !c.unrelated {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.lookup(r.ID) != nil:
			return ID{}, Errorf(InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID)
		case len(c.inflight) >= c.most:
			return r.ID, Errorf(InternalError, "%d requests are in flight, the most there may be: wait for an answer before the next request", c.most)
		}
		if c.inline == nil {
			c.inline = r // as one of those that keep the reading always is
		} else {
			c.inflight[r.ID.key()] = r
		}
	}
	c.hold()
	return r.ID, nil
}

// lookup returns the request in flight with that id, if there is one. mu is held.
func (c *Conn) lookup(id ID) *Request {
	if c.inline == nil && len(c.inflight) == 0 {
		return nil
	}
	key := id.key()
	if c.inline != nil && c.inline.ID.key() == key {
		return c.inline
	}
	return c.inflight[key]
}

// tooLong deals with a request that keeps the reading, see [watchdog].
func (c *Conn) tooLong(r *Request) {
	if r.declared.Load() {
		r.Release()
	} else if c.held != nil {
		// The order forbids to read on, but nothing has to wait for it that is to go out.
		c.held.flush()
	}
}

// hold makes Run wait for one thing more.
func (c *Conn) hold() { c.running.Add(1) }

// letGo is the end of what begin or hold began.
func (c *Conn) letGo() {
	if c.running.Add(-1) == 0 && c.draining.Load() {
		c.tellIdle()
	}
}

// tellIdle tells Run, once, that there is nothing to wait for, if so.
func (c *Conn) tellIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running.Load() == 0 && !c.wasIdle {
		c.wasIdle = true
		close(c.idle)
	}
}

// invoke calls the handler and encodes its answer into buf. A panic in either ends the
// request and nothing else.
func (c *Conn) invoke(r *Request, buf []byte) (reply []byte) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.logPanic(r, p)
		reply = c.reply(nil, r, nil, Errorf(InternalError, "internal error in %s", r.Method))
		if p == nil {
			// runtime.Goexit: this goroutine ends here, so another has to read on.
			c.finish(r, reply)
			r.Release()
		}
	}()
	result, err := c.handle((*requestContext)(r), r)
	reply = c.reply(buf, r, result, err)
	returned = true
	return reply
}

func (c *Conn) logPanic(r *Request, p any) {
	c.log.Error("a handler panicked", "method", r.Method, "id", r.ID.String(), "panic", p, "stack", string(debug.Stack()))
}

// finish takes a request from among those in flight and sends its answer, if one is wanted.
func (c *Conn) finish(r *Request, reply []byte) {
	defer c.letGo()
	c.mu.Lock()
	r.endContext()
	wanted := !r.IsNotification()
	if c.inline == r {
		c.inline = nil
	} else if wanted && !c.unrelated {
		delete(c.inflight, r.ID.key())
	}
	if r.cancelled {
		reply = nil
	}
	c.mu.Unlock()
	if wanted {
		c.answer(r, reply)
	}
}

// reply appends the answer to a request to dst; a notification has none.
func (c *Conn) reply(dst []byte, r *Request, result any, err error) []byte {
	if r.IsNotification() {
		if err != nil {
			c.log.Warn("a notification was not understood", "method", r.Method, "error", err)
		}
		return dst
	}
	if err == nil {
		reply, encodeErr := appendResult(dst, r.ID, result)
		if encodeErr == nil {
			return reply
		}
		c.log.Error("encoding a result", "method", r.Method, "error", encodeErr)
		err = fmt.Errorf("encoding the result of %s: %w", r.Method, encodeErr)
	}
	r.failure = err
	e := asError(err)
	if e.Data != nil && strictjson.Check(e.Data) != nil {
		c.log.Error("the data of an error is not JSON", "method", r.Method, "error", err)
		e = &Error{Code: e.Code, Message: e.Message}
	}
	return appendError(dst, r.ID, e, false)
}

// answer sends a reply, or puts it into its batch. A nil reply is none.
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
		defer c.letGo()
		r.failure = nil // a batch is an answer, whatever is in it
	}
	if r.out != nil {
		r.out.Respond(reply, r.failure)
		for _, f := range after {
			c.follow(r, f)
		}
		return
	}
	if reply == nil || c.deal(r, reply) != nil {
		return // an error is kept by sent and ends Run
	}
	if len(after) > 0 {
		r.declare()
	}
	for _, f := range after {
		c.follow(r, f)
	}
}

// deal hands an answer to the transport. Once it has its place among the others, the
// reading need not wait for it to be taken.
func (c *Conn) deal(r *Request, reply []byte) error {
	if c.held == nil {
		return c.send(reply)
	}
	later, err := c.held.put(reply)
	if later || err != nil {
		return c.sent(err)
	}
	r.declare()
	return c.sent(c.held.push())
}

// follow calls what is to come behind an answer. A panic ends that and nothing else.
func (c *Conn) follow(r *Request, f func()) {
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
