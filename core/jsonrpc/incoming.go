package jsonrpc

import (
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
	var buf []byte // of an answer that has gone, for the next one
	for {
		in, err := c.next()
		if err != nil {
			c.abandonCalls()
			c.ended <- err
			return
		}
		reads := true
		switch {
		case in.fault != nil:
			reads = c.refuse(in)
		case in.method == "":
			c.deliver(in.message)
		default:
			r := &Request{ID: in.id, Method: in.method, Params: in.params, conn: c, batch: in.batch, slot: in.slot}
			if buf, reads = c.run(r, buf[:0]); cap(buf) > mostKept {
				buf = nil
			}
		}
		if !reads && !c.awaitTurn() {
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

// passTurn lets another goroutine read while r is being served.
func (c *Conn) passTurn(r *Request) {
	c.mu.Lock()
	if c.inline == r {
		c.inflight[r.ID.key()], c.inline = r, nil
	}
	c.mu.Unlock()
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
		if err != nil {
			var lost *MessageError
			if errors.As(err, &lost) {
				return incoming{fault: &fault{lost.ID, lost.Response, false, lost.Err}}, nil
			}
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

// refuse answers a message that is not a good one, if it is one to be answered, and
// reports whether this goroutine is still the one that reads.
func (c *Conn) refuse(in incoming) bool {
	f := in.fault
	switch {
	case f.response:
		c.log.Warn("a response was not understood", "id", f.id.String(), "error", f.err)
		if !f.id.IsZero() {
			c.deliver(message{id: f.id, err: f.err})
		}
		return true
	case f.notification:
		c.log.Warn("a notification was not understood", "error", f.err)
		return true
	}
	return c.refuseRequest(&Request{conn: c, batch: in.batch, slot: in.slot}, f.id, f.err)
}

// refuseRequest answers a request that no handler sees.
func (c *Conn) refuseRequest(r *Request, id ID, err *Error) bool {
	c.watch.begin(r)
	c.answer(r, appendError(nil, id, err, c.dialect.Load().NullID))
	return r.turn.CompareAndSwap(keepsTurn, servedTurn)
}

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
	if !r.IsNotification() {
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case c.lookup(r.ID) != nil:
			return ID{}, Errorf(InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID)
		case len(c.inflight) >= c.most:
			return r.ID, Errorf(InternalError, "%d requests are in flight, the most there may be: wait for an answer before the next request", c.most)
		}
		c.inline = r
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
	} else if wanted {
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
	}
	if reply == nil || c.deal(r, reply) != nil {
		return // an error is kept by sent and ends Run
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
