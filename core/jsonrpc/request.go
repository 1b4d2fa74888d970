package jsonrpc

import (
	"context"
	"encoding/json"
	"sync/atomic"
)

// A Request is an incoming request or notification.
//
// Handlers are called on the goroutine that reads, in the order in which messages
// come: until the handler returns or the request is released, no further message is
// read. A handler that keeps this order need not fear that a later message overtakes it.
// One that surely takes long calls [Request.Release] first. One that is mostly quick, or runs
// somebody else's code, calls [Request.MayTakeLong]: it costs next to nothing, and the
// reading goes on elsewhere if it does take long.
//
// The context of a request ends when the peer cancels it, when the connection
// has run out of grace, or when the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // an object or an array that strictjson has checked; nil if there are none

	conn      *Conn
	batch     *batch // where the answer goes, if not out on its own
	slot      int
	after     []func()
	cancelled bool // guarded by conn.mu

	parent  context.Context // of the context, if the request came by Take
	out     Responder       // where what belongs to it goes, if not to the transport
	failure error           // why it was not fulfilled

	turn     atomic.Int32 // who reads: keepsTurn, passedTurn or servedTurn
	declared atomic.Bool  // the turn may be taken away
	live     atomic.Pointer[liveContext]
}

// What has become of the turn to read that a request began with.
const (
	keepsTurn  = iota // no message is read until this one is served
	passedTurn        // another goroutine reads
	servedTurn        // it was kept to the end, and is no longer the request's to pass
)

// IsNotification reports whether no answer is wanted.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// InBatch reports whether the request came with others in one message.
func (r *Request) InBatch() bool { return r.batch != nil }

// Release lets the next message be read while this one is still being handled.
// Calling it again does nothing. Any goroutine may call it.
func (r *Request) Release() {
	if r.turn.CompareAndSwap(keepsTurn, passedTurn) {
		r.conn.passTurn(r)
	}
}

// Released reports whether another message may have been read while this one was handled.
func (r *Request) Released() bool { return r.turn.Load() == passedTurn }

// MayTakeLong declares that from here on the order does not matter. The request is then
// released by itself as soon as its context, or one derived from it, is asked for Done or Err,
// when it makes a [Conn.Call], and when it has kept the reading for some hundred microseconds.
// If the context has been asked already, that is at once.
func (r *Request) MayTakeLong() {
	r.declare()
	if r.live.Load() != nil {
		r.Release() // a derived context may be asked without our seeing it
	}
}

// declare lets the watchdog take the turn away.
func (r *Request) declare() {
	if !r.declared.Load() {
		r.declared.Store(true)
		r.conn.watch.wake()
	}
}

// AfterAnswer has f called once the transport has taken the answer to the request,
// whatever it says, or the answer to the batch that the request came in. Several are
// called in order. None is called for a notification, nor where no answer goes out: because
// the peer cancelled the request or is gone. By then the context of the request is
// over, and the next message may be read if f takes long. The handler calls AfterAnswer
// before it returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// Cancel ends the context of the request with that id and suppresses its
// answer. It reports whether there was such a request in flight.
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
