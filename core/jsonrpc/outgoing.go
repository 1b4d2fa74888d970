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

// Call sends a request, waits for the answer and decodes its result into result, which may be nil.
// An error of the peer is returned as an [*Error]. If ctx ends first, Call returns the cause at
// once and drops the answer when it arrives; the caller tells the peer, if the protocol has a way.
// While the peer does not read, Call waits to send; with other transports than [Lines], ctx does
// not end that.
//
// params must encode to an object or an array; nil sends none.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	_, raw, err := c.Do(ctx, &Outgoing{Method: method, Params: params})
	if err != nil || result == nil {
		return err
	}
	if to, ok := result.(*json.RawMessage); ok {
		*to = raw
		return nil
	}
	if err := strictjson.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("reading the result of %s: %w", method, err)
	}
	return nil
}

// An Outgoing is a call of ours, with all its options.
type Outgoing struct {
	Method string
	Params any // as [Conn.Call] takes them

	// Idle is how long to wait for the answer after the call was sent or [Conn.Touch] was last
	// called with it; Most is how long to wait in all. 0 means no limit. The error is a
	// [*TimeoutError].
	Idle, Most time.Duration

	// Via sends the message in another way than over the transport, and may wait for the answer and
	// hand it to [Conn.Receive] or [Conn.Deliver]. If it returns nil before there is an answer, the
	// call waits for it. Its context ends with that of the call, at a timeout, when Receive gets
	// the answer, and when Via calls done: before it returns, or later if it left something
	// running. It may keep msg. nil means the transport.
	Via func(ctx context.Context, done func(), id ID, msg []byte) error

	// Begun is called with the id before the call is sent. It may be nil.
	Begun func(ID)

	number int64 // its id; guarded by Conn.mu
}

// A TimeoutError says that an answer did not arrive in time.
type TimeoutError struct {
	Method string
	After  time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("no answer to %s within %v", e.Method, e.After)
}

// Is reports that a deadline was exceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout reports true, as for errors of package net.
func (e *TimeoutError) Timeout() bool { return true }

// An AnswerError says that an answer is invalid.
type AnswerError struct {
	Method string
	Err    *Error
}

func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer to %s was not understood: %v", e.Method, e.Err)
}

// Unwrap returns what is wrong with it.
func (e *AnswerError) Unwrap() error { return e.Err }

// Do sends a request with the options of o and waits for the answer. The result is valid JSON. Do
// returns the id even if there is no answer, unless nothing was sent.
func (c *Conn) Do(ctx context.Context, o *Outgoing) (ID, json.RawMessage, error) {
	p := c.newPending(o)
	if !c.enter(o, p) {
		return ID{}, nil, fmt.Errorf("calling %s: %w", o.Method, ErrClosed)
	}
	defer c.leave(o, p)
	id := IntID(o.number)
	msg, err := appendCall(p.buf[:0], id, o.Method, o.Params)
	if err != nil {
		return ID{}, nil, err
	}
	p.buf = msg
	if o.Begun != nil {
		o.Begun(id)
	}
	if o.Via != nil {
		err = c.sendVia(ctx, o, p, id, msg)
	} else if err = c.sendCall(ctx, o, p, msg); err != nil {
		id = ID{}
	}
	answer, err := c.await(ctx, o, p, err)
	switch {
	case err != nil:
		return id, nil, err
	case answer.broken != nil:
		return id, nil, &AnswerError{o.Method, answer.broken}
	case answer.err != nil:
		return id, nil, answer.err
	}
	return id, answer.result, nil
}

// sendCall hands a call to the transport, or to the responder of the request that it belongs to.
func (c *Conn) sendCall(ctx context.Context, o *Outgoing, p *pending, msg []byte) error {
	if r := c.requestOf(ctx); r != nil {
		r.Release() // before sending: the peer may not read until it has been read from
		if r.responder != nil {
			return r.responder.Send(msg)
		}
	}
	err := c.sendWithin(ctx, p.expired, msg)
	if errors.Is(err, errExpired) {
		return c.late(o, p)
	}
	return err
}

// sendWithin hands a message to the transport, unless ctx ends or the call expires before there is
// room for it.
func (c *Conn) sendWithin(ctx context.Context, expired <-chan time.Time, msg []byte) error {
	if c.lines == nil {
		return c.send(msg)
	}
	for {
		_, room, err := c.lines.put(msg, false)
		if room == nil {
			return c.sent(err)
		}
		select {
		case <-room:
		case <-expired:
			return errExpired
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errExpired = errors.New("timeout")

func (c *Conn) late(o *Outgoing, p *pending) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return p.timeout(o)
}

func (c *Conn) sendVia(ctx context.Context, o *Outgoing, p *pending, id ID, msg []byte) error {
	until, stop := context.WithCancelCause(ctx)
	c.mu.Lock()
	p.stop = stop
	switch {
	case c.closed: // since the call was entered, when there was nothing to be stopped yet
		stop(ErrClosed)
	case len(p.expired) > 0:
		stop(p.timeout(o))
	}
	c.mu.Unlock()
	err := o.Via(until, func() { stop(errDone) }, id, msg)
	c.mu.Lock()
	p.stop = nil
	c.mu.Unlock()
	if cause := context.Cause(until); err != nil && cause != nil && cause != errDone && ctx.Err() == nil {
		return cause // why Via was stopped says more than its error
	}
	return err
}

// errDone is the cause of the context of Via after done.
var errDone = errors.New("done")

// await waits for the answer to a call. sent is the error of sending it.
func (c *Conn) await(ctx context.Context, o *Outgoing, p *pending, sent error) (message, error) {
	select {
	case m, ok := <-p.answer:
		return answered(o, m, ok)
	default:
	}
	if sent != nil {
		if timeout := (*TimeoutError)(nil); errors.As(sent, &timeout) {
			return message{}, sent
		}
		return message{}, fmt.Errorf("calling %s: %w", o.Method, sent)
	}
	select {
	case m, ok := <-p.answer:
		return answered(o, m, ok)
	case <-p.expired:
		return message{}, c.late(o, p)
	case <-ctx.Done():
		return message{}, fmt.Errorf("calling %s: %w", o.Method, context.Cause(ctx))
	}
}

func answered(o *Outgoing, m message, ok bool) (message, error) {
	if !ok {
		return m, fmt.Errorf("calling %s: %w", o.Method, ErrClosed)
	}
	return m, nil
}

// Notify sends a notification. It returns when the transport has taken it, or when ctx ends before
// there is room for it.
func (c *Conn) Notify(ctx context.Context, method string, params any) error {
	return notify(func(msg []byte) error { return c.sendWithin(ctx, nil, msg) }, method, params)
}

func notify(send func([]byte) error, method string, params any) error {
	msg, err := appendCall(nil, ID{}, method, params)
	if err != nil {
		return err
	}
	if err := send(msg); err != nil {
		return fmt.Errorf("notifying %s: %w", method, err)
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
		return nil, fmt.Errorf("encoding the params of %s: %w", method, err)
	}
	if first := strictjson.First(dst[start:]); first != '{' && first != '[' {
		return nil, fmt.Errorf("encoding the params of %s: must be an object or an array, got %s", method, strictjson.Describe(dst[start:]))
	}
	return append(dst, '}'), nil
}

// enter gives a call its number, unless the connection has ended.
func (c *Conn) enter(o *Outgoing, p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastID++
	o.number = c.lastID
	if !c.closed {
		c.calls[o.number] = p
	}
	return !c.closed
}

// leave ends a call, and keeps what it needed for the next one.
func (c *Conn) leave(o *Outgoing, p *pending) {
	c.mu.Lock()
	delete(c.calls, o.number)
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return
	}
	if p.timer != nil {
		p.timer.Stop()
	}
	if o.Via != nil {
		return // the function that its timer calls may be about to run
	}
	select {
	case <-p.answer: // came too late to be taken
	default:
	}
	if cap(p.buf) > maxKept {
		p.buf = nil
	}
	c.kept.Put(p)
}

// deliver hands a response to the call that waits for it. stop cancels the context of its sender,
// see [Outgoing].Via.
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
		c.o.Logger.Debug("received a response to no pending call", "id", m.id.String())
	}
}

// Touch restarts the idle timeout of a call, because the peer has shown that it is working on it.
func (c *Conn) Touch(o *Outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.calls[o.number]; p != nil {
		p.extend()
	}
}

// Abandon fails all pending calls, and further ones: their answers will not arrive.
func (c *Conn) Abandon() {
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
	answer chan message // has room for the one; closed if none will come
	buf    []byte       // that the call was written to

	stop    context.CancelCauseFunc // ends what sends the call, while that goes on; guarded by Conn.mu
	timer   *time.Timer             // nil if none was ever needed
	expired <-chan time.Time        // has something when the time is up; nil if the call waits for ever
	idle    time.Duration
	until   time.Time // the end of all waiting; zero if there is none
	after   time.Duration
}

// newPending returns a pending call with the timeouts of o. It reuses one that has completed, if
// possible.
func (c *Conn) newPending(o *Outgoing) *pending {
	var p *pending
	if o.Via == nil {
		p, _ = c.kept.Get().(*pending)
	}
	if p == nil {
		p = &pending{answer: make(chan message, 1)}
	}
	p.idle, p.until, p.expired = o.Idle, time.Time{}, nil
	if o.Most > 0 {
		p.until = time.Now().Add(o.Most)
	}
	first := p.next(o.Most)
	switch {
	case first <= 0:
		return p
	case o.Via != nil:
		// Via watches its context instead of a channel.
		expired := make(chan time.Time, 1)
		p.expired = expired
		p.timer = time.AfterFunc(first, func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			if p.stop != nil {
				p.stop(p.timeout(o))
			}
			select {
			case expired <- time.Time{}:
			default:
			}
		})
		return p
	case p.timer == nil:
		p.timer = time.NewTimer(first)
	default:
		p.timer.Reset(first)
	}
	p.expired = p.timer.C
	return p
}

// next returns the next timeout, if left is what is left of Most; 0 means none.
func (p *pending) next(left time.Duration) time.Duration {
	p.after = p.idle
	if p.idle <= 0 || !p.until.IsZero() && left < p.idle {
		p.after = left
	}
	return p.after
}

// extend restarts the idle timeout. Conn.mu is held.
func (p *pending) extend() {
	if p.idle <= 0 || p.timer == nil {
		return
	}
	left := time.Duration(0)
	if !p.until.IsZero() {
		if left = time.Until(p.until); left <= 0 {
			return
		}
	}
	p.timer.Reset(p.next(left))
}

// timeout returns the error of a call that timed out. Conn.mu is held.
func (p *pending) timeout(o *Outgoing) error {
	after := p.after
	if !p.until.IsZero() && !time.Now().Before(p.until) {
		after = o.Most
	}
	return &TimeoutError{o.Method, after}
}
