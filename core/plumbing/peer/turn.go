package peer

import (
	"sync"
	"sync/atomic"
	"time"
)

// Requests are scheduled as follows.
//
// One goroutine at a time reads from the transport: it has the turn. It serves each request itself
// before it reads the next one. A quick handler thus costs no goroutine switch, and the answers to
// a burst of requests are sent in one write. Pipelined requests are 1.5 to 2 times as fast as when
// each of them passes the turn. Petrock's decision page "scheduling" compares this design with a
// goroutine for each request.
//
// A handler that takes long must not keep the turn. Another goroutine continues to read if
//
//   - the handler calls [Request.Release], for example because it has not been quick so far;
//   - the request may run concurrently with later ones (see [Options].Ordered), and the handler
//     calls Done of its context, or [Conn.Do]: it is about to wait;
//   - the request may run concurrently, and keeps the turn for longer than maxTurn.
//
// A request that must be handled in order keeps the turn until its handler returns. If that takes
// long, the answers that [jsonrpc.Lines] holds back are sent meanwhile.

// The states of the turn of a request.
const (
	keepsTurn  = iota // no message is read until this one is served
	passedTurn        // another goroutine reads
	servedTurn        // the request has been served and can no longer pass the turn
)

// maxTurn is how long a request that may run concurrently keeps the turn. The timer may take twice
// as long to notice.
const maxTurn = 250 * time.Microsecond

// maxIdleReaders limits the goroutines that wait for the turn. Their stacks, grown by earlier
// requests, are reused.
const maxIdleReaders = 4

// Release lets the next message be read while this one is still being handled. Further calls do
// nothing. Any goroutine may call it.
func (r *Request) Release() {
	if r.turn.CompareAndSwap(keepsTurn, passedTurn) {
		r.conn.passTurn(r)
	}
}

// IsReleased reports whether other messages are read while this one is being handled: it has been
// released, or came through [Conn.Receive].
func (r *Request) IsReleased() bool { return r.turn.Load() == passedTurn }

// allowConcurrent lets turnTimer release the request.
func (r *Request) allowConcurrent() {
	if !r.concurrent.Load() {
		r.concurrent.Store(true)
		r.conn.turns.start()
	}
}

// passTurn passes the turn to a waiting goroutine, or starts one.
func (c *Conn) passTurn(r *Request) {
	c.mu.Lock()
	if c.single == r {
		c.inflight[r.ID().Key()], c.single = r, nil
	}
	c.mu.Unlock()
	select {
	case c.turn <- struct{}{}:
	default:
		go c.read()
	}
}

// awaitTurn waits until this goroutine gets the turn. It returns false if enough others wait or the
// connection has ended.
func (c *Conn) awaitTurn() bool {
	defer c.waiting.Add(-1)
	if c.waiting.Add(1) > maxIdleReaders {
		return false
	}
	select {
	case <-c.turn:
		return true
	case <-c.done:
		return false
	}
}

// A turnTimer checks the request that has the turn every maxTurn, as long as requests arrive. It
// releases a request that it sees twice, if the request may run concurrently, or else sends the
// answers that are held back. This way, requests neither read the clock nor reset a timer.
type turnTimer struct {
	conn    *Conn
	latest  atomic.Pointer[Request] // the last that began
	running atomic.Bool

	mu      sync.Mutex
	timer   *time.Timer
	seen    *Request // latest at the last check
	stopped bool
}

// start starts the timer unless it runs. Every request calls it, so the common case is one load.
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
		t.timer = time.AfterFunc(maxTurn, t.check)
	} else {
		t.timer.Reset(maxTurn)
	}
}

// check is called by the timer. If no request has begun since the last check, it acts on the latest
// one and lets the timer stop; otherwise it only remembers the latest one.
func (t *turnTimer) check() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return
	}
	if t.conn.lines != nil {
		t.conn.lines.EndOldBurst()
	}
	r := t.latest.Load()
	if r == t.seen {
		switch {
		case r.turn.Load() != keepsTurn:
		case r.concurrent.Load():
			r.Release()
		case t.conn.lines != nil:
			t.conn.lines.EndBurst()
		}
		t.running.Store(false)
		// A request that began before running was false relies on the timer.
		changed := t.latest.Load() != r || r.concurrent.Load() && r.turn.Load() == keepsTurn
		if !changed || !t.running.CompareAndSwap(false, true) {
			return
		}
	}
	t.seen = r
	t.timer.Reset(maxTurn)
}

// stop stops the timer for good.
func (t *turnTimer) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.timer != nil {
		t.timer.Stop()
	}
}
