package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A TimeoutError means that an answer did not arrive in time.
type TimeoutError struct {
	Method string
	After  time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer to %s within %v", e.Method, e.After)
}

// Is reports whether target is [context.DeadlineExceeded].
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout returns true, as for errors of package net.
func (e *TimeoutError) Timeout() bool { return true }

// Do sends a request with the options of o and waits for the answer. The result is valid JSON. An
// error response is returned as a [*jsonrpc.Error]. If ctx ends first, Do returns its cause
// immediately, and the answer is dropped when it arrives; the peer gets no cancellation. While the
// peer does not read, sending blocks; ctx ends that only for [jsonrpc.Lines]. Do returns the id of
// every request that was sent, even if it also returns an error.
func (c *Conn) Do(ctx context.Context, o *Outgoing) (jsonrpc.ID, json.RawMessage, error) {
	ctx, stop := context.WithCancelCause(ctx)
	p := c.addPending(o, stop)
	if p == nil {
		stop(jsonrpc.ErrClosed)
		return jsonrpc.ID{}, nil, fmt.Errorf("call %s: %w", o.Method, jsonrpc.ErrClosed)
	}
	defer c.leave(p, &p.returned)
	id := jsonrpc.IntID(o.number)
	msg, err := jsonrpc.AppendRequest(make([]byte, 0, 256), id, o.Method, o.Params)
	if err != nil {
		return jsonrpc.ID{}, nil, err
	}
	if o.OnID != nil {
		o.OnID(id)
	}
	if o.Via != nil {
		p.sent = false
		err = o.Via(ctx, func() { c.leave(p, &p.sent) }, id, msg)
	} else if err = c.sendCall(ctx, msg); err != nil {
		id = jsonrpc.ID{}
	}
	result, err := p.wait(ctx, err)
	return id, result, err
}

// sendCall passes a call to the transport, or to the responder of the request that ctx belongs to.
func (c *Conn) sendCall(ctx context.Context, msg []byte) error {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok && r.conn == c {
		r.Release() // before sending: the peer may not read until we read
		if r.responder != nil {
			return r.responder.Send(msg)
		}
	}
	return c.sendWithin(ctx, msg)
}

// sendWithin passes a message to the transport, unless ctx ends before the transport has room for
// it.
func (c *Conn) sendWithin(ctx context.Context, msg []byte) error {
	if c.lines == nil {
		return c.send(msg)
	}
	later, err := c.lines.Put(ctx, msg)
	if !later && err == nil {
		c.lines.StartWriting()
	}
	return err
}

// Notify sends a notification. It returns when the transport has queued it, or when ctx ends before
// the transport has room for it.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return notify(func(msg []byte) error { return c.sendWithin(ctx, msg) }, method, params)
}

// Notify sends a notification that belongs to the request. It returns when the transport or the
// [Responder] has queued it, or when ctx ends before the transport has room for it. Do not call it
// after the request has been answered.
func (r *Request) Notify(ctx context.Context, method string, params any) error {
	if r.responder != nil {
		return notify(r.responder.Send, method, params)
	}
	return r.conn.Notify(ctx, method, params)
}

func notify(send func([]byte) error, method string, params any) error {
	msg, err := jsonrpc.AppendNotification(nil, method, params)
	if err != nil {
		return err
	}
	if err := send(msg); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	return nil
}

// addPending starts a call, which stop ends. It returns nil if the connection has ended.
func (c *Conn) addPending(o *Outgoing, stop context.CancelCauseFunc) *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.lastID++
	o.number = c.lastID
	p := &pending{o: *o, stop: stop, answer: make(chan answer, 1), sent: true}
	if o.MaxTimeout > 0 {
		p.deadline = time.Now().Add(o.MaxTimeout)
	}
	if timeout := p.nextTimeout(); timeout > 0 {
		p.timer = time.AfterFunc(timeout, func() { stop(p.timeoutError()) })
	}
	c.calls[o.number] = p
	return p
}

// leave sets left, which is one of returned and sent. When both are set, it ends the context of the
// call.
func (c *Conn) leave(p *pending, left *bool) {
	c.mu.Lock()
	*left = true
	isOver := p.returned && p.sent
	if p.returned {
		delete(c.calls, p.o.number)
	}
	if p.returned && p.timer != nil {
		p.timer.Stop()
	}
	c.mu.Unlock()
	if isOver {
		p.stop(nil)
	}
}

// ResetIdleTimeout restarts the idle timeout of a call, for example after a progress notification.
func (c *Conn) ResetIdleTimeout(o *Outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.calls[o.number]; p != nil && p.timer != nil {
		p.timer.Reset(p.nextTimeout())
	}
}

// wait returns the result of the call, or an error if ctx, the context of the call, ends first.
// sendErr is the error of sending it.
func (p *pending) wait(ctx context.Context, sendErr error) (json.RawMessage, error) {
	if sendErr == nil {
		select {
		case a := <-p.answer:
			return a.result, a.err
		case <-ctx.Done():
		}
	}
	select {
	case a := <-p.answer:
		return a.result, a.err
	default:
	}
	err := sendErr
	if ctx.Err() != nil {
		err = context.Cause(ctx) // more precise than the error of Via
	}
	if _, ok := errors.AsType[*TimeoutError](err); ok {
		return nil, err
	}
	return nil, fmt.Errorf("call %s: %w", p.o.Method, err)
}

// nextTimeout returns the time until the call expires, if its idle timeout starts now; 0 means
// never.
func (p *pending) nextTimeout() time.Duration {
	if p.deadline.IsZero() {
		return max(p.o.IdleTimeout, 0)
	}
	left := max(time.Until(p.deadline), 1)
	if p.o.IdleTimeout > 0 {
		return min(left, p.o.IdleTimeout)
	}
	return left
}

// timeoutError returns the error of a call that timed out.
func (p *pending) timeoutError() error {
	after := p.o.IdleTimeout
	if !p.deadline.IsZero() && !time.Now().Before(p.deadline) {
		after = p.o.MaxTimeout
	}
	return &TimeoutError{p.o.Method, after}
}
