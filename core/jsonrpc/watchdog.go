package jsonrpc

import (
	"sync"
	"sync/atomic"
	"time"
)

const (
	lookEvery = 250 * time.Microsecond
	mostQuiet = 8 // so many looks in a row without a new request end the watch
)

// A watchdog looks from time to time at the request that keeps the reading, as long as
// requests come. One that it finds a second time has taken too long. A request costs it no
// look at the clock and, but for the first after a pause, no timer.
type watchdog struct {
	latest atomic.Pointer[Request] // the last that was begun
	awake  atomic.Bool

	// tooLong is called with a request that has kept the reading for too long. It may be
	// called again for the same one, and does not block.
	tooLong func(*Request)

	// looked is called at each look, and does not block.
	looked func()

	mu      sync.Mutex
	timer   *time.Timer
	seen    *Request // by the last look
	quiet   int      // looks since then that saw nothing new
	stopped bool
}

// begin is told of each request.
func (w *watchdog) begin(r *Request) {
	w.latest.Store(r)
	w.wake()
}

// wake sets the watch going, unless it is.
func (w *watchdog) wake() {
	if w.awake.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped || !w.awake.CompareAndSwap(false, true) {
		return
	}
	w.quiet = 0
	if w.timer == nil {
		w.timer = time.AfterFunc(lookEvery, w.look)
	} else {
		w.timer.Reset(lookEvery)
	}
}

func (w *watchdog) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopped {
		return
	}
	w.looked()
	r := w.latest.Load()
	if r != w.seen {
		w.seen, w.quiet = r, 0
	} else if w.quiet++; r.turn.Load() == keepsTurn {
		w.tooLong(r)
	}
	if w.quiet >= mostQuiet {
		w.awake.Store(false)
		// Whoever came before that relies on the watch.
		news := w.latest.Load() != r || r.declared.Load() && r.turn.Load() == keepsTurn
		if !news || !w.awake.CompareAndSwap(false, true) {
			return
		}
		w.quiet = 0
	}
	w.timer.Reset(lookEvery)
}

// stop ends the watch for good.
func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
