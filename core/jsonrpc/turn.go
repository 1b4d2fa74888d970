package jsonrpc

import (
	"sync"
	"sync/atomic"
	"time"
)

// How requests are scheduled.
//
// One goroutine at a time reads from the transport: it has the turn. It serves the request that it
// has read itself, before it reads the next one. A quick handler thus costs no switch to another
// goroutine, and the answers to a burst of requests leave in one write: pipelined calls are two to
// three times as fast as with a goroutine each.
//
// A handler that takes long must not keep the turn. It gives it up in one of these ways, and
// another goroutine reads on:
//
//   - It calls [Request.Release].
//   - It may run concurrently with later requests ([Options].Ordered, [Request.MayTakeLong]), and it asks for Done or Err of
//     its context or makes a call of its own: it is about to wait.
//   - It may run concurrently, and keeps the turn for more than keepTurn: turnTimer takes the turn away.
//
// A request that must be handled in order keeps the turn until its handler returns. If that takes
// long, the answers that are held back for a common write are sent meanwhile.
//
// A [Pace] learns which handlers are quick. It releases the requests of all others at once, so that
// the next message does not have to wait for the timer.

// What has become of the turn to read that a request began with.
const (
	keepsTurn  = iota // no message is read until this one is served
	passedTurn        // another goroutine reads
	servedTurn        // kept until the request was served, and no longer the request's to pass
)

// keepTurn is how long a request that may run concurrently keeps the turn; up to twice as long if
// it is unlucky.
const keepTurn = 250 * time.Microsecond

// maxIdleReaders is how many goroutines wait for the turn. A goroutine that has grown its stack for
// one request is worth keeping for the next.
const maxIdleReaders = 4

// Release lets the next message be read while this one is still being handled. Calling it again
// does nothing. Any goroutine may call it.
func (r *Request) Release() {
	if r.turn.CompareAndSwap(keepsTurn, passedTurn) {
		r.conn.passTurn(r)
	}
}

// Released reports whether another message may have been read while this one was handled.
func (r *Request) Released() bool { return r.turn.Load() == passedTurn }

// MayTakeLong declares that the request may run concurrently with later ones from here on, as it
// does from the start if [Options].Ordered says so. If the context has been asked for Done or Err
// already, it releases the request.
func (r *Request) MayTakeLong() {
	r.declare()
	if r.live.Load() != nil {
		r.Release() // a derived context may be asked without our seeing it
	}
}

// declare lets turnTimer take the turn away.
func (r *Request) declare() {
	if !r.declared.Load() {
		r.declared.Store(true)
		r.conn.turns.start()
	}
}

// passTurn lets another goroutine read while r is being served.
func (c *Conn) passTurn(r *Request) {
	c.mu.Lock()
	if c.inline == r {
		c.inflight[r.ID.key()], c.inline = r, nil
	}
	c.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
	default:
		go c.read()
	}
}

// awaitTurn waits until this goroutine gets the turn. It reports false if enough others wait or the
// connection has ended.
func (c *Conn) awaitTurn() bool {
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > maxIdleReaders {
		return false
	}
	select {
	case <-c.turn:
		return true
	case <-c.over:
		return false
	}
}

// keepsTooLong takes the turn away from a request that has kept it for too long, if that is allowed.
func (c *Conn) keepsTooLong(r *Request) {
	if r.declared.Load() {
		r.Release()
	} else if c.lines != nil {
		c.lines.endBurst()
	}
}

// A Pace remembers whether a handler has been quick lately. A quick handler keeps the turn, which
// is the fastest way. The requests of any other one are released before it is called. A quick
// handler that turns slow delays the next message once, by keepTurn, and has to prove itself again.
// The zero value is the pace of a handler that has not been called yet.
type Pace struct {
	quick atomic.Uint32 // quick calls in a row, up to provenAfter
	calls atomic.Uint32 // since the handler has been a quick one
}

const (
	// quickCall is the longest duration of a call that is not worth a goroutine of its own.
	quickCall = 20 * time.Microsecond
	// provenAfter is how many quick calls in a row make a handler a quick one.
	provenAfter = 3
	// timedEvery is how many calls of a quick handler there are for each one that is timed: reading
	// the clock costs as much as decoding small arguments. turnTimer notices a call that takes very
	// long anyway.
	timedEvery = 16
)

// Begin is called right before the handler. Its result is for End.
func (p *Pace) Begin(r *Request) (began time.Time) {
	if r.responder != nil {
		return time.Time{} // other requests do not wait for this one
	}
	if p.quick.Load() < provenAfter {
		r.Release()
		return time.Now()
	}
	if p.calls.Add(1)%timedEvery == 0 {
		return time.Now()
	}
	return time.Time{}
}

// End is called right after the handler, with the result of Begin.
func (p *Pace) End(r *Request, began time.Time) {
	switch {
	case r.responder != nil, began.IsZero() && !r.Released():
	case began.IsZero() || time.Since(began) > quickCall:
		p.quick.Store(0)
	case p.quick.Load() < provenAfter:
		p.quick.Add(1)
	}
}

// A turnTimer looks at the request that has the turn every keepTurn, as long as requests come. A
// request that it sees twice keeps the turn for too long. Requests neither read the clock nor reset
// a timer.
type turnTimer struct {
	latest  atomic.Pointer[Request] // the last that began
	running atomic.Bool

	keepsTooLong func(*Request) // may be called several times for a request; does not block
	tick         func()         // called every time; does not block

	mu      sync.Mutex
	timer   *time.Timer
	seen    *Request // at the last tick
	stopped bool
}

// start starts the timer, unless it runs.
func (t *turnTimer) start() {
	if t.running.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped || !t.running.CompareAndSwap(false, true) {
		return
	}
	if t.timer == nil {
		t.timer = time.AfterFunc(keepTurn, t.look)
	} else {
		t.timer.Reset(keepTurn)
	}
}

func (t *turnTimer) look() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	t.tick()
	r := t.latest.Load()
	if r == t.seen {
		if r.turn.Load() == keepsTurn {
			t.keepsTooLong(r)
		}
		t.running.Store(false)
		// A request that came before that relies on the timer.
		changed := t.latest.Load() != r || r.declared.Load() && r.turn.Load() == keepsTurn
		if !changed || !t.running.CompareAndSwap(false, true) {
			return
		}
	}
	t.seen = r
	t.timer.Reset(keepTurn)
}

func (t *turnTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
