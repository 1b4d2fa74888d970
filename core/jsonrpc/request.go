package jsonrpc

import (
	"context"
	"encoding/json"
	"sync/atomic"
)

// A Request is an incoming request or notification.
//
// Handlers are called on the goroutine that reads, in the order in which messages
// come: until the handler returns or calls [Request.Release], no further message is
// read. A handler that keeps this order need not fear that a later message
// overtakes it; one that may take long, or that runs somebody else's code, releases.
//
// The context of a request ends when the peer cancels it, when the connection
// has run out of grace, or when the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // an object or an array; nil if there are none

	conn      *Conn
	batch     *batch // where the answer goes, if not out on its own
	slot      int
	cancel    context.CancelCauseFunc
	cancelled bool // guarded by conn.mu
	released  atomic.Bool
	after     func()
}

// IsNotification reports whether no answer is wanted.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// InBatch reports whether the request came with others in one message.
func (r *Request) InBatch() bool { return r.batch != nil }

// Release lets the next message be read while this one is still being handled.
// Calling it again does nothing.
func (r *Request) Release() {
	if r.released.CompareAndSwap(false, true) {
		r.conn.passTurn()
	}
}

// Cancel ends the context of the request with that id and suppresses its
// answer. It reports whether there was such a request in flight.
func (c *Conn) Cancel(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.inflight[id.key()]
	if !ok {
		return false
	}
	r.cancelled = true
	r.cancel(ErrCancelled)
	return true
}

// requestKey is the key of a context's request.
type requestKey struct{}

// releaseOf releases the request that ctx belongs to, if it came over c: who is
// about to wait for a message must let it be read.
func (c *Conn) releaseOf(ctx context.Context) {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok && r.conn == c {
		r.Release()
	}
}

// AfterAnswer has f called once the answer has been handed to the transport.
func (r *Request) AfterAnswer(f func()) { r.after = f }
