package jsonrpc

import (
	"context"
	"time"
)

// A requestContext is a request as a context. Most handlers never ask for Done or Err, so the context that can end is made
// only for those that do, see [Request.alive].
type requestContext Request

// A liveContext is a context together with what ends it.
type liveContext struct {
	context.Context
	cancel context.CancelCauseFunc
	detach func() bool // from the connection, if that is not the parent; may be nil
}

func newLiveContext(parent context.Context) *liveContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &liveContext{Context: ctx, cancel: cancel}
}

// alive returns the real context and makes it if there is none yet. conn.mu is held.
func (r *Request) alive() *liveContext {
	live := r.live.Load()
	if live == nil {
		if r.parent == nil {
			live = newLiveContext(r.conn.ctx)
		} else {
			live = newLiveContext(r.parent)
			live.detach = context.AfterFunc(r.conn.ctx, func() { live.cancel(context.Cause(r.conn.ctx)) })
		}
		r.live.Store(live)
	}
	return live
}

// end ends the context of a request whose handler has returned.
func (c *liveContext) end() {
	c.cancel(nil)
	if c.detach != nil {
		c.detach()
	}
}

// watched returns the real context for a handler that asks for Done or Err: it may be about to wait.
func (x *requestContext) watched() *liveContext {
	r := (*Request)(x)
	live := r.live.Load()
	if live == nil {
		r.conn.mu.Lock()
		live = r.alive()
		r.conn.mu.Unlock()
	}
	if r.declared.Load() {
		r.Release()
	}
	return live
}

func (x *requestContext) Done() <-chan struct{} { return x.watched().Done() }

func (x *requestContext) Err() error { return x.watched().Err() }

// String keeps fmt from printing the fields of the request.
func (x *requestContext) String() string { return "jsonrpc.Request(" + x.Method + ")" }

func (x *requestContext) Deadline() (time.Time, bool) { return x.base().Deadline() }

// base is the parent of the real context.
func (x *requestContext) base() context.Context {
	if x.parent != nil {
		return x.parent
	}
	return x.conn.ctx
}

// Value asks the real context, if there is one, so that package context recognizes its own type: it then needs no goroutine
// to propagate the end, and finds the cause.
func (x *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return (*Request)(x)
	}
	if live := x.live.Load(); live != nil {
		return live.Value(key)
	}
	return x.base().Value(key)
}

// requestKey is the key of a context's request.
type requestKey struct{}

// requestOf returns the request that ctx belongs to, if it came over c, or nil.
func (c *Conn) requestOf(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok && r.conn == c {
		return r
	}
	return nil
}
