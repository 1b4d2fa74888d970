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

// newPending returns a call that waits as o says. Most are made of one that has its answer.
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
		// Whoever sends it does not look at a channel, and has nothing more to do with it when it was sent.
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

// next is how long to wait from now on, if left is what is left of all waiting; 0 is for ever.
func (p *pending) next(left time.Duration) time.Duration {
	p.after = p.idle
	if p.idle <= 0 || !p.until.IsZero() && left < p.idle {
		p.after = left
	}
	return p.after
}

// extend begins the waiting anew. Conn.mu is held.
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

// timeout is the error for one whose time is up. Conn.mu is held.
func (p *pending) timeout(o *Outgoing) error {
	after := p.after
	if !p.until.IsZero() && !time.Now().Before(p.until) {
		after = o.Most
	}
	return &TimeoutError{o.Method, after}
}

// keep ends the waiting, and keeps the call for another. Nobody else knows of it any more.
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
