package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// An Outgoing is an outgoing call with all its options.
type Outgoing struct {
	Method string
	Params any // must encode to an object or an array; nil omits them

	// IdleTimeout limits the wait for the answer; [Conn.ResetIdleTimeout] restarts it. MaxTimeout
	// limits the call as a whole. 0 means no limit. The error is a [*TimeoutError].
	IdleTimeout, MaxTimeout time.Duration

	// Via sends the message instead of the transport. It may wait for the answer and pass it to
	// [Conn.Receive] or [Conn.Deliver], or return nil and let the call wait. It may keep msg. Its
	// context ends with that of the call, at a timeout, when Receive gets the answer, and when done
	// is called. Via calls done before it returns, or later if it leaves a goroutine running. If
	// Via is nil, the transport sends the message.
	Via func(ctx context.Context, done func(), id ID, msg []byte) error

	// OnID is called with the id before the call is sent. It may be nil.
	OnID func(ID)

	number int64 // its id; guarded by Conn.mu
}

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

// An AnswerError means that an answer is invalid.
type AnswerError struct {
	Method string
	Err    *Error
}

func (e *AnswerError) Error() string { return fmt.Sprintf("invalid answer to %s: %v", e.Method, e.Err) }

// Unwrap returns Err.
func (e *AnswerError) Unwrap() error { return e.Err }

// Do sends a request with the options of o and waits for the answer. The result is valid JSON. An
// error response is returned as an [*Error]. If ctx ends first, Do returns its cause immediately,
// and the answer is dropped when it arrives; the peer gets no cancellation. While the peer does not
// read, sending blocks; ctx ends that only for [Lines]. Do returns the id of every request that was
// sent, even if it also returns an error.
func (c *Conn) Do(ctx context.Context, o *Outgoing) (ID, json.RawMessage, error) {
	p := c.newPending(o)
	if !c.addPending(o, p) {
		return ID{}, nil, fmt.Errorf("call %s: %w", o.Method, ErrClosed)
	}
	defer c.removePending(o, p)
	id := IntID(o.number)
	msg, err := appendCall(nil, id, o.Method, o.Params)
	if err != nil {
		return ID{}, nil, err
	}
	if o.OnID != nil {
		o.OnID(id)
	}
	if o.Via != nil {
		err = c.sendVia(ctx, o, p, id, msg)
	} else if err = c.sendCall(ctx, o, p, msg); err != nil {
		id = ID{}
	}
	answer, err := c.awaitAnswer(ctx, o, p, err)
	switch {
	case err != nil:
		return id, nil, err
	case answer.invalid != nil:
		return id, nil, &AnswerError{o.Method, answer.invalid}
	case answer.err != nil:
		return id, nil, answer.err
	}
	return id, answer.result, nil
}

// sendCall passes a call to the transport, or to the responder of the request that ctx belongs to.
func (c *Conn) sendCall(ctx context.Context, o *Outgoing, p *pending, msg []byte) error {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok && r.conn == c {
		r.Release() // before sending: the peer may not read until we read
		if r.responder != nil {
			return r.responder.Send(msg)
		}
	}
	err := c.sendWithin(ctx, p.expired, msg)
	if errors.Is(err, errExpired) {
		return p.timeoutError(o)
	}
	return err
}

// sendWithin passes a message to the transport, unless ctx ends or the call expires before the
// transport has room for it.
func (c *Conn) sendWithin(ctx context.Context, expired <-chan struct{}, msg []byte) error {
	if c.lines == nil {
		return c.send(msg)
	}
	later, err := c.lines.put(ctx, expired, msg)
	if !later && err == nil {
		c.lines.startWriting()
	}
	return err
}

var errExpired = errors.New("timeout")

func (c *Conn) sendVia(ctx context.Context, o *Outgoing, p *pending, id ID, msg []byte) error {
	until, stop := context.WithCancelCause(ctx)
	c.mu.Lock()
	p.stop = stop
	switch {
	case c.closed: // since addPending
		stop(ErrClosed)
	case len(p.expired) > 0:
		stop(p.timeoutError(o))
	}
	c.mu.Unlock()
	err := o.Via(until, func() { stop(errDone) }, id, msg)
	c.mu.Lock()
	p.stop = nil
	c.mu.Unlock()
	if cause := context.Cause(until); err != nil && cause != nil && cause != errDone && ctx.Err() == nil {
		return cause // more precise than the error of Via
	}
	return err
}

// errDone is the cause of the context of Via after it has called done.
var errDone = errors.New("done")

// awaitAnswer waits for the answer to a call. sendErr is the error of sending it.
func (c *Conn) awaitAnswer(ctx context.Context, o *Outgoing, p *pending, sendErr error) (message, error) {
	select {
	case m, ok := <-p.answer:
		return answered(o, m, ok)
	default:
	}
	if sendErr != nil {
		if _, ok := errors.AsType[*TimeoutError](sendErr); ok {
			return message{}, sendErr
		}
		return message{}, fmt.Errorf("call %s: %w", o.Method, sendErr)
	}
	select {
	case m, ok := <-p.answer:
		return answered(o, m, ok)
	case <-p.expired:
		return message{}, p.timeoutError(o)
	case <-ctx.Done():
		return message{}, fmt.Errorf("call %s: %w", o.Method, context.Cause(ctx))
	}
}

func answered(o *Outgoing, m message, ok bool) (message, error) {
	if !ok {
		return m, fmt.Errorf("call %s: %w", o.Method, ErrClosed)
	}
	return m, nil
}

// Notify sends a notification. It returns when the transport has queued it, or when ctx ends before
// the transport has room for it.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return notify(func(msg []byte) error { return c.sendWithin(ctx, nil, msg) }, method, params)
}

func notify(send func([]byte) error, method string, params any) error {
	msg, err := appendCall(nil, ID{}, method, params)
	if err != nil {
		return err
	}
	if err := send(msg); err != nil {
		return fmt.Errorf("send %s: %w", method, err)
	}
	return nil
}

// AppendNotification appends a notification, for callers that send it themselves.
func AppendNotification(dst []byte, method string, params any) ([]byte, error) {
	return appendCall(dst, ID{}, method, params)
}

func appendCall(dst []byte, id ID, method string, params any) ([]byte, error) {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if !id.IsZero() {
		dst = append(dst, `"id":`...)
		dst = append(dst, id.raw...)
		dst = append(dst, ',')
	}
	dst = append(dst, `"method":`...)
	dst = strictjson.AppendString(dst, method)
	if params == nil {
		return append(dst, '}'), nil
	}
	dst = append(dst, `,"params":`...)
	start := len(dst)
	dst, err := appendJSON(dst, params)
	if err != nil {
		return nil, fmt.Errorf("encode the params of %s: %w", method, err)
	}
	if first := strictjson.First(dst[start:]); first != '{' && first != '[' {
		return nil, fmt.Errorf("encode the params of %s: must be an object or an array, got %s", method, strictjson.Describe(dst[start:]))
	}
	return append(dst, '}'), nil
}

// addPending assigns the number of a call and reports whether the connection is still open.
func (c *Conn) addPending(o *Outgoing, p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	o.number = c.lastID
	if !c.closed {
		c.calls[o.number] = p
	}
	return !c.closed
}

func (c *Conn) removePending(o *Outgoing, p *pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, o.number)
	if p.timer != nil {
		p.timer.Stop()
	}
}

// deliver passes a response to the call that waits for it. stop cancels the context of its
// [Outgoing].Via.
func (c *Conn) deliver(m message, stop bool) {
	number, _ := strconv.ParseInt(m.id.raw, 10, 64) // no call has the number 0
	c.mu.Lock()
	p := c.calls[number]
	if p != nil {
		delete(c.calls, number)
		p.answer <- m
		if p.stop != nil && stop {
			p.stop(nil)
		}
	}
	c.mu.Unlock()
	if p == nil {
		c.o.Logger.Debug("received a response to an unknown call", "id", m.id.String())
	}
}

// ResetIdleTimeout restarts the idle timeout of a call, for example after a progress notification.
func (c *Conn) ResetIdleTimeout(o *Outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.calls[o.number]; p != nil && p.timer != nil && p.idleTimeout > 0 {
		p.timer.Reset(p.nextTimeout())
	}
}

// FailCalls fails all pending and future calls with [ErrClosed].
func (c *Conn) FailCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, p := range c.calls {
		close(p.answer)
		if p.stop != nil {
			p.stop(ErrClosed)
		}
		delete(c.calls, id)
	}
}

// A pending call waits for its answer.
type pending struct {
	answer chan message // buffers one message; closed if no answer will arrive

	stop        context.CancelCauseFunc // cancels the context of Via while it runs; guarded by Conn.mu
	timer       *time.Timer             // nil if the call has no timeout
	expired     chan struct{}           // receives a value at the timeout
	idleTimeout time.Duration
	deadline    time.Time // zero without MaxTimeout
}

// newPending returns a pending call with the timeouts of o.
func (c *Conn) newPending(o *Outgoing) *pending {
	p := &pending{answer: make(chan message, 1), idleTimeout: o.IdleTimeout}
	if o.MaxTimeout > 0 {
		p.deadline = time.Now().Add(o.MaxTimeout)
	}
	first := p.nextTimeout()
	if first == 0 {
		return p
	}
	p.expired = make(chan struct{}, 1)
	p.timer = time.AfterFunc(first, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if p.stop != nil {
			p.stop(p.timeoutError(o)) // Via watches its context
		}
		select {
		case p.expired <- struct{}{}:
		default:
		}
	})
	return p
}

// nextTimeout returns the time until the call expires, if its idle timeout starts now; 0 means
// never.
func (p *pending) nextTimeout() time.Duration {
	if p.deadline.IsZero() {
		return max(p.idleTimeout, 0)
	}
	left := max(time.Until(p.deadline), 1)
	if p.idleTimeout > 0 {
		return min(left, p.idleTimeout)
	}
	return left
}

// timeoutError returns the error of a call that timed out.
func (p *pending) timeoutError(o *Outgoing) error {
	after := p.idleTimeout
	if !p.deadline.IsZero() && !time.Now().Before(p.deadline) {
		after = o.MaxTimeout
	}
	return &TimeoutError{o.Method, after}
}
