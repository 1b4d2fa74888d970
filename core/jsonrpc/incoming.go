package jsonrpc

import (
	"errors"

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
			c.Abandon()
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
				if c.stray != nil && !lost.Response {
					c.stray(nil, lost.Err)
					continue
				}
				return incoming{fault: &fault{lost.ID, lost.Response, false, lost.Err}}, nil
			}
			return incoming{}, err
		}
		if strictjson.First(raw) == '[' {
			c.queue = c.unpack(raw)
			continue
		}
		m, f := parse(raw)
		if f != nil && c.stray != nil && !f.response {
			c.stray(raw, f.err)
			continue
		}
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
			c.deliver(message{id: f.id, broken: f.err})
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
