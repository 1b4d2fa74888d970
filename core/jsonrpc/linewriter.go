package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxWaiting = 1 << 20  // bytes; above this, senders wait for the writer
	maxHeld    = 32 << 10 // bytes; from this on, a separate goroutine writes them
	maxKept    = 64 << 10 // bytes; larger buffers are not reused
	maxWritten = 64 << 10 // bytes in one write, which close uses to detect progress
)

// A lineWriter writes messages, one per line, for several senders. A sender writes its message itself
// unless a write is in progress.
type lineWriter struct {
	w       io.Writer
	onError func(error) // called with the error of a write that no sender waits for; may be nil
	burst   atomic.Bool // more messages have been received and are about to be answered
	full    atomic.Bool // waiting exceeds maxWaiting
	holding atomic.Bool // waiting messages are held back until endBurst

	heldBefore bool // the value of holding at the last endOldBurst

	mu      sync.Mutex
	room    *sync.Cond    // on mu: waiting may have room again
	free    chan struct{} // closed when waiting may have room again; made on demand
	waiting []byte
	spare   []byte
	writing bool
	written int64         // bytes written so far
	idle    chan struct{} // closed when no write is in progress; made on demand
	closing bool          // further messages are refused
	err     error
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.room = sync.NewCond(&l.mu)
	return l
}

func (l *lineWriter) send(msg []byte) error {
	if later, _, err := l.put(msg, true); later || err != nil {
		return err
	}
	return l.push()
}

// put queues a message. later reports that another goroutine will write it, now or at the end of a
// burst; otherwise the caller must call push. If the queue is full, put waits. Without wait, it
// returns a channel instead, which is closed when the queue may have room.
func (l *lineWriter) put(msg []byte, wait bool) (later bool, room <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.hasRoom() {
		if !wait {
			if l.free == nil {
				l.free = make(chan struct{})
			}
			return false, l.free, nil
		}
		l.room.Wait()
	}
	if l.err != nil {
		return false, nil, l.err
	}
	if l.closing {
		return false, nil, ErrClosed
	}
	start := len(l.waiting)
	l.waiting = append(l.waiting, msg...)
	if bytes.IndexByte(msg, '\n') >= 0 {
		replaceNewlines(l.waiting[start:])
	}
	l.waiting = append(l.waiting, '\n')
	if len(l.waiting) > maxWaiting {
		l.full.Store(true)
	}
	later = l.writing || l.shouldHold()
	if !later && !wait {
		l.startWriting()
		later = true
	}
	return later, nil, nil
}

// shouldHold reports whether waiting messages should be written together with later ones. It sets
// holding and then reads burst; Receive clears burst and then reads holding. So at least one of them
// sees the change of the other. mu is held.
func (l *lineWriter) shouldHold() bool {
	if len(l.waiting) >= maxHeld || !l.burst.Load() {
		return false
	}
	l.holding.Store(true)
	return l.burst.Load()
}

// push writes the waiting messages, unless another goroutine does or they are held back. It leaves
// maxHeld bytes or more to a new goroutine.
func (l *lineWriter) push() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.writing || len(l.waiting) == 0:
	case l.shouldHold():
	case len(l.waiting) >= maxHeld:
		l.startWriting()
	default:
		l.writing = true
		l.flush()
		if len(l.waiting) == 0 {
			l.finishWriting()
		} else {
			go l.flushAll() // other senders have queued messages meanwhile
		}
	}
	return l.err
}

func (l *lineWriter) endBurst() {
	l.burst.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startWriting()
}

// endOldBurst calls endBurst if messages were already held back at its last call.
func (l *lineWriter) endOldBurst() {
	was := l.heldBefore
	l.heldBefore = l.holding.Load()
	if was && l.heldBefore {
		l.endBurst()
	}
}

// startWriting starts a goroutine that writes the waiting messages, unless a write is in progress.
// mu is held.
func (l *lineWriter) startWriting() {
	if !l.writing && len(l.waiting) > 0 && l.err == nil {
		l.writing = true
		go l.flushAll()
	}
}

// replaceNewlines replaces line breaks with spaces. In JSON they only occur between tokens.
func replaceNewlines(msg []byte) {
	for i := bytes.IndexByte(msg, '\n'); i >= 0; i = bytes.IndexByte(msg, '\n') {
		msg[i] = ' '
		msg = msg[i+1:]
	}
}

// flush writes the waiting messages. mu is held, but not during writes.
func (l *lineWriter) flush() {
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
	l.full.Store(false)
	l.holding.Store(false)
	for rest := out; len(rest) > 0 && l.err == nil; {
		piece := rest[:min(len(rest), maxWritten)]
		rest = rest[len(piece):]
		l.mu.Unlock()
		n, err := l.w.Write(piece)
		l.mu.Lock()
		l.written += int64(n)
		if err != nil && l.err == nil {
			l.err = fmt.Errorf("write a message: %w", err)
		}
	}
	if cap(out) <= maxKept {
		l.spare = out
	}
	l.makeRoom()
}

// makeRoom wakes goroutines that wait for room. mu is held.
func (l *lineWriter) makeRoom() {
	l.room.Broadcast()
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// awaitRoom waits until the queue has room.
func (l *lineWriter) awaitRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.hasRoom() {
		l.room.Wait()
	}
}

// hasRoom reports whether put returns without waiting, with or without an error. mu is held.
func (l *lineWriter) hasRoom() bool { return len(l.waiting) <= maxWaiting || l.err != nil || l.closing }

func (l *lineWriter) flushAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && l.err == nil {
		l.flush()
	}
	l.finishWriting()
	if l.err != nil && l.onError != nil {
		l.onError(l.err)
	}
}

func (l *lineWriter) finishWriting() {
	l.writing = false
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// close refuses further messages and waits until the others are written. It fails if no byte is
// written for timeout.
func (l *lineWriter) close(timeout time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.makeRoom()
	l.startWriting()
	for l.writing && l.err == nil {
		before := l.written
		l.awaitIdle(timeout)
		if l.writing && l.written == before && l.err == nil {
			l.err = fmt.Errorf("%w: the peer did not read for %v", ErrClosed, timeout)
		}
	}
	return l.err
}

// awaitIdle waits for the end of writing, at most for timeout. mu is held, but not while it waits.
func (l *lineWriter) awaitIdle(timeout time.Duration) {
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
