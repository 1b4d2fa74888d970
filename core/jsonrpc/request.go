package jsonrpc

import (
	"context"
	"encoding/json"
	"sync/atomic"
)

// A Request is an incoming request or notification.
//
// Handlers are called on the goroutine that reads, in the order in which messages arrive: until the handler returns or
// releases the request, no further message is read. See [Request.Release], [Request.MayTakeLong] and [Options].Ordered for
// handlers that take long.
//
// The context of a request ends when the peer cancels it, when the connection has run out of grace, or when the handler has
// returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // an object or an array that strictjson has checked; nil if there are none

	conn      *Conn
	batch     *batch // collects the answer, if the request is part of a batch
	slot      int    // of the answer in the batch
	after     []func()
	cancelled bool // guarded by conn.mu

	parent    context.Context // of the context, if the request came by Conn.Receive
	responder Responder       // takes the answer, if the request came by Conn.Receive
	failure   error           // why the request failed

	turn     atomic.Int32 // keepsTurn, passedTurn or servedTurn
	declared atomic.Bool  // the request may run concurrently with later ones
	live     atomic.Pointer[liveContext]
}

// IsNotification reports whether the request gets no answer.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// InBatch reports whether the request is part of a batch.
func (r *Request) InBatch() bool { return r.batch != nil }

// Responder returns what was given to [Conn.Receive], or nil if the request came over the transport.
func (r *Request) Responder() Responder { return r.responder }

// Notify sends a notification that belongs to the request. It returns when the transport or the [Responder] has taken it.
// The caller must not call it for a request that has been answered.
func (r *Request) Notify(method string, params any) error {
	send := r.conn.send
	if r.responder != nil {
		send = r.responder.Send
	}
	return notify(send, method, params)
}

// AfterAnswer has f called once the transport has taken the answer to the request, or to its batch. Several functions are
// called in order. None is called for a notification, nor if no answer is sent because the peer cancelled the request or is
// gone. By then the context of the request has ended, and the next message may be read if f takes long. The handler calls
// AfterAnswer before it returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// Cancel ends the context of the request with that id and suppresses its answer. It reports whether there was such a
// request in flight.
func (c *Conn) Cancel(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.lookup(id)
	if r == nil {
		return false
	}
	r.cancelled = true
	r.alive().cancel(ErrCancelled)
	return true
}
