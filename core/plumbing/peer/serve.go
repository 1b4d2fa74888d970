package peer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// serve handles a message other than a response on the goroutine that has the turn: it calls the
// handler and sends the answer. It returns the buffer of the answer for reuse.
func (c *Conn) serve(r *Request, f *jsonrpc.MessageError, buf []byte) []byte {
	if f == nil {
		f = c.register(r)
		if c.o.Ordered != nil && !c.o.Ordered[r.Method()] && !r.IsNotification() {
			r.concurrent.Store(true)
		}
	}
	c.turns.latest.Store(r)
	c.turns.start()
	if f != nil {
		c.refuse(r, f)
		return buf
	}
	buf = c.invoke(r, buf)
	c.finish(r, buf)
	return buf
}

// register adds a request to those in flight, or returns an error if the request is refused.
func (c *Conn) register(r *Request) *jsonrpc.MessageError {
	if !r.IsNotification() && !c.o.UnrelatedPeers {
		c.mu.Lock()
		defer c.mu.Unlock()
		count := len(c.inflight)
		if c.single != nil {
			count++
		}
		if count > 0 && c.lookup(r.ID()) != nil {
			return &jsonrpc.MessageError{Err: jsonrpc.Errorf(jsonrpc.InvalidRequest, "the id %s is in use by a request that has not been answered yet", r.ID())}
		}
		if count >= c.o.MaxInFlight {
			err := jsonrpc.Errorf(jsonrpc.InternalError, "too many requests in flight (limit %d); wait for an answer before the next request", c.o.MaxInFlight)
			return &jsonrpc.MessageError{ID: r.ID(), Err: err}
		}
		if c.single == nil {
			c.single = r
		} else {
			c.inflight[r.ID().Key()] = r
		}
	}
	c.running.Add(1)
	return nil
}

// lookup returns the request in flight with that id, or nil. mu is held.
func (c *Conn) lookup(id jsonrpc.ID) *Request {
	key := id.Key()
	if c.single != nil && c.single.ID().Key() == key {
		return c.single
	}
	return c.inflight[key]
}

// untrack counts one handler or batch less, and wakes drain after the last.
func (c *Conn) untrack() {
	if c.running.Add(-1) == 0 && c.draining.Load() {
		c.setIdle()
	}
}

// invoke calls the handler and returns the answer, appended to buf. A panic in the handler fails
// only the request.
func (c *Conn) invoke(r *Request, buf []byte) (reply []byte) {
	c.protect(r, func() {
		result, err := c.o.Handle((*requestContext)(r), r)
		if err == nil && !r.IsNotification() {
			if reply, err = jsonrpc.AppendResult(buf, r.ID(), result); err != nil {
				c.o.Logger.Error("encode result", "method", r.Method(), "error", err)
				err = fmt.Errorf("encode the result of %s: %w", r.Method(), err)
			}
		}
		if err != nil || r.IsNotification() {
			reply = c.replyError(buf, r, err)
		}
	}, func(exits bool) {
		reply = c.replyError(nil, r, jsonrpc.Errorf(jsonrpc.InternalError, "internal error in %s", r.Method()))
		if exits {
			c.finish(r, reply)
		}
	})
	return reply
}

// protect calls f, and failed if f panics or ends its goroutine with runtime.Goexit. In the latter
// case exits is true, and another goroutine must continue to read.
func (c *Conn) protect(r *Request, f func(), failed func(exits bool)) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		c.o.Logger.Error("handler panicked", "method", r.Method(), "id", r.ID().String(), "panic", p, "stack", string(debug.Stack()))
		failed(p == nil)
		if p == nil {
			r.Release()
		}
	}()
	f()
	returned = true
}

// replyError appends the answer to a failed request. For a notification, it only logs err.
func (c *Conn) replyError(dst []byte, r *Request, err error) []byte {
	if r.IsNotification() {
		if err != nil {
			c.o.Logger.Warn("received an invalid notification", "method", r.Method(), "error", err)
		}
		return dst
	}
	r.failure = err
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Data != nil && strictjson.Check(e.Data) != nil {
		c.o.Logger.Error("the data of an error is not valid JSON", "method", r.Method(), "error", err)
		err = &jsonrpc.Error{Code: e.Code, Message: e.Message}
	}
	return jsonrpc.AppendError(dst, r.ID(), err)
}

// finish removes a request from those in flight and sends its answer, if any.
func (c *Conn) finish(r *Request, reply []byte) {
	defer c.untrack()
	c.mu.Lock()
	if live := r.live.Load(); live == nil {
		r.live.Store(c.finished)
	} else {
		live.end()
	}
	answered := !r.IsNotification()
	if c.single == r {
		c.single = nil
	} else if answered && !c.o.UnrelatedPeers {
		delete(c.inflight, r.ID().Key())
	}
	if r.cancelled {
		reply = nil
	}
	c.mu.Unlock()
	if answered {
		c.answer(r, reply)
	}
}

// answer sends a reply, or adds it to its batch. A nil reply is not sent.
func (c *Conn) answer(r *Request, reply []byte) {
	if r.batch != nil {
		var complete bool
		if reply, complete = r.batch.add(r.slot, reply); !complete {
			return
		}
		defer c.untrack()
		r.failure, r.after = nil, nil // they belong to the request, not to its batch
	}
	switch {
	case r.responder != nil:
		r.responder.Respond(reply, r.failure)
	case reply == nil:
		return
	case c.lines == nil:
		if c.send(reply) != nil {
			return // the error ends Run
		}
	default:
		// Once the answer is queued, the next message may be read while it is written.
		later, err := c.lines.Put(context.Background(), reply)
		if !later && err == nil {
			r.allowConcurrent()
			err = c.lines.Push()
		}
		if err != nil {
			c.failSend(err)
			return
		}
	}
	if reply == nil || len(r.after) == 0 {
		return
	}
	r.allowConcurrent()
	for _, f := range r.after {
		c.protect(r, f, func(bool) {})
	}
}

// A requestContext is the context of a request. Most handlers never call Done, so it creates a
// cancellable context only on demand, see [Request.ensureLive].
type requestContext Request

// ensureLive returns the cancellable context, and creates it if needed. The caller holds conn.mu.
func (r *Request) ensureLive() *liveContext {
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

// A liveContext is a cancellable context with its cancel function.
type liveContext struct {
	context.Context
	cancel context.CancelCauseFunc
	detach func() bool // stops watching the connection; nil if the connection is the parent
}

func newLiveContext(parent context.Context) *liveContext {
	ctx, cancel := context.WithCancelCause(parent)
	return &liveContext{Context: ctx, cancel: cancel}
}

// end ends the context of a request whose handler has returned.
func (c *liveContext) end() {
	c.cancel(nil)
	if c.detach != nil {
		c.detach()
	}
}

// Done releases the request if it may run concurrently, because a handler that calls Done may be
// about to wait. 64 handlers that wait for a millisecond end after 2 ms this way, and after 80 ms
// if only turnTimer notices them (BenchmarkWaiting).
func (x *requestContext) Done() <-chan struct{} {
	r := (*Request)(x)
	live := r.live.Load()
	if live == nil {
		r.conn.mu.Lock()
		live = r.ensureLive()
		r.conn.mu.Unlock()
	}
	if r.concurrent.Load() {
		r.Release()
	}
	return live.Done()
}

// Err does not release the request: a handler that only looks, or logs, remains quick.
func (x *requestContext) Err() error {
	if live := x.live.Load(); live != nil {
		return live.Err()
	}
	if err := x.base().Err(); err != nil {
		return err
	}
	return x.conn.ctx.Err()
}

// String prevents package fmt from printing the fields of the request.
func (x *requestContext) String() string { return "peer.Request(" + x.Method() + ")" }

func (x *requestContext) Deadline() (time.Time, bool) { return x.base().Deadline() }

// base returns the context whose values and deadline the request has.
func (x *requestContext) base() context.Context {
	if x.parent != nil {
		return x.parent
	}
	return x.conn.ctx
}

// Value asks the cancellable context, if the request has its own. Package context then recognizes
// its own type, so it finds the cause and needs no goroutine to propagate cancellation.
func (x *requestContext) Value(key any) any {
	if key == (requestKey{}) {
		return (*Request)(x)
	}
	if live := x.live.Load(); live != nil && live != x.conn.finished {
		return live.Value(key)
	}
	return x.base().Value(key)
}
