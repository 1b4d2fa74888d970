package jsonrpc

import (
	"context"
	"time"
)

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

// newPending returns a pending call with the timeouts of o. It reuses one that has completed, if possible.
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

// keep stops the timer of a completed call, and keeps it for reuse.
func (c *Conn) keep(p *pending, o *Outgoing) {
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
