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
}

func newLiveContext(parent context.Context) *liveContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &liveContext{ctx, cancel}
}

// alive returns the real context and makes it if there is none yet. conn.mu is held.
func (r *Request) alive() *liveContext {
	live := r.live.Load()
	if live == nil {
		live = newLiveContext(r.conn.ctx)
		r.live.Store(live)
	}
	return live
}

// endContext ends the context; whoever asks from here on finds it ended. conn.mu is held.
func (r *Request) endContext() {
	if live := r.live.Load(); live != nil {
		live.cancel(nil)
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

func (x *requestContext) Deadline() (time.Time, bool) { return x.conn.ctx.Deadline() }

// Value looks into the real context, if there is one, so that package context recognizes
// its own: it then needs no goroutine to watch us, and finds the cause.
func (x *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return (*Request)(x)
	}
	if live := x.live.Load(); live != nil {
		return live.Value(key)
	}
	return x.conn.ctx.Value(key)
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
