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

// read serves messages until there are no more. When a request that it serves has passed the turn to another goroutine, it
// waits for the turn afterwards.
func (c *Conn) read() {
	var buf []byte // of an answer that has been sent, for the next one
	for {
		in, err := c.next()
		if err != nil {
			c.Abandon()
			c.ended <- err
			return
		}
		if in.fault == nil && in.method == "" {
			c.deliver(in.message, true)
			continue
		}
		r := &Request{ID: in.id, Method: in.method, Params: in.params, conn: c, batch: in.batch, slot: in.slot}
		if buf = c.serve(r, in.fault, buf[:0]); cap(buf) > maxKept {
			buf = nil
		}
		// From here on it is too late to release the request. A goroutine of the handler might still try to.
		if !r.turn.CompareAndSwap(keepsTurn, servedTurn) && !c.awaitTurn() {
			return
		}
	}
}

// next returns the next message: from the queue of a batch, or from the transport.
func (c *Conn) next() (incoming, error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		if err != nil {
			lost, ok := errors.AsType[*MessageError](err)
			if !ok {
				return incoming{}, err
			}
			if c.invalid != nil && !lost.Response {
				c.invalid(nil, lost.Err)
				continue
			}
			return incoming{fault: &fault{lost.ID, lost.Response, false, lost.Err}}, nil
		}
		if strictjson.First(raw) == '[' {
			c.queue = c.unpack(raw)
			continue
		}
		m, f := parse(raw)
		if f != nil && c.invalid != nil && !f.response {
			c.invalid(raw, f.err)
			continue
		}
		return incoming{message: m, fault: f}, nil
	}
	in := c.queue[0]
	c.queue = c.queue[1:]
	return in, nil
}

// refuse answers an invalid message as r, unless it is a response or a notification.
func (c *Conn) refuse(r *Request, f *fault) {
	switch {
	case f.response:
		c.log.Warn("received an invalid response", "id", f.id.String(), "error", f.err)
		if !f.id.IsZero() {
			c.deliver(message{id: f.id, broken: f.err}, true)
		}
	case f.notification:
		c.log.Warn("received an invalid notification", "error", f.err)
	default:
		r.failure = f.err
		c.answer(r, appendError(nil, f.id, f.err, c.dialect.Load().NullID))
	}
}
