package jsonrpc

import (
	"context"
	"time"
)

// A requestContext is a request seen as its context. Most handlers never ask when their
// context ends, so what can end is made only for those that do, see [Request.alive].
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

// endContext ends the context; whoever asks from here on finds it ended. conn.mu is held.
func (r *Request) endContext() {
	if live := r.live.Load(); live != nil {
		live.cancel(nil)
		if live.detach != nil {
			live.detach()
		}
	} else {
		r.live.Store(r.conn.gone)
	}
}

// watched returns the real context for somebody who asks when it ends: a sign that
// the handler may be about to wait.
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

// String keeps those who print a context from looking into the request.
func (x *requestContext) String() string { return "jsonrpc.Request(" + x.Method + ")" }

func (x *requestContext) Deadline() (time.Time, bool) { return x.base().Deadline() }

// base is what the real context is made from.
func (x *requestContext) base() context.Context {
	if x.parent != nil {
		return x.parent
	}
	return x.conn.ctx
}

// Value looks into the real context, if there is one, so that package context recognizes
// its own: it then needs no goroutine to watch us, and finds the cause.
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
