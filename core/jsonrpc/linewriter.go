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
	maxHeld    = 32 << 10 // bytes; from this on, a goroutine of its own writes them
	maxKept    = 64 << 10 // bytes; a larger buffer is not kept for the next write
	maxWritten = 64 << 10 // bytes in one write, some of which the peer must take in time
)

// A lineWriter writes messages, a line each, for several senders. A sender that finds no write in
// progress writes.
type lineWriter struct {
	w       io.Writer
	failed  func(error) // told when a write fails that no sender waits for; may be nil
	burst   atomic.Bool // more messages have come in and are about to be answered
	crowded atomic.Bool // there is no room in waiting
	holding atomic.Bool // what waits is held back, and nobody writes it unless told to

	heldBefore bool // what endOldBurst saw last

	mu      sync.Mutex
	room    *sync.Cond    // on mu: there may be room in waiting again
	free    chan struct{} // closed when there may be; made on demand
	waiting []byte
	spare   []byte
	writing bool
	written int64         // bytes that the peer has taken
	idle    chan struct{} // closed when nothing is being written; made on demand
	closing bool          // no further messages are taken
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

// put adds a message to those that wait to be written. later reports that another goroutine will
// write it, now or at the end of a burst; otherwise the caller calls push. If there is no room, put
// waits; without wait it does not take the message and returns a channel that is closed when there
// may be room.
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
		l.crowded.Store(true)
	}
	later = l.writing || l.hold()
	if !later && !wait {
		l.startWriting()
		later = true
	}
	return later, nil, nil
}

// hold reports whether waiting messages should be written together with later ones. It sets holding
// before it reads burst for the last time; Receive ends the burst first and reads holding then, so
// that one of the two sees the other. mu is held.
func (l *lineWriter) hold() bool {
	if len(l.waiting) >= maxHeld || !l.burst.Load() {
		return false
	}
	l.holding.Store(true)
	return l.burst.Load()
}

// push writes the waiting messages, unless another goroutine does or they are held back. Many bytes
// are written by a goroutine of their own.
func (l *lineWriter) push() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.writing || len(l.waiting) == 0:
	case l.hold():
	case len(l.waiting) >= maxHeld:
		l.startWriting()
	default:
		l.writing = true
		l.flush()
		if len(l.waiting) == 0 {
			l.done()
		} else {
			go l.flushAll() // messages of other senders, which came meanwhile
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

// endOldBurst is endBurst if messages were held back already when it was last called.
func (l *lineWriter) endOldBurst() {
	was := l.heldBefore
	if l.heldBefore = l.holding.Load(); was && l.heldBefore {
		l.endBurst()
	}
}

// startWriting starts a goroutine that writes the waiting messages, unless one does. mu is held.
func (l *lineWriter) startWriting() {
	if !l.writing && len(l.waiting) > 0 && l.err == nil {
		l.writing = true
		go l.flushAll()
	}
}

// replaceNewlines turns the line breaks in a message into spaces. In JSON they only occur between
// values.
func replaceNewlines(msg []byte) {
	for i := bytes.IndexByte(msg, '\n'); i >= 0; i = bytes.IndexByte(msg, '\n') {
		msg[i] = ' '
		msg = msg[i+1:]
	}
}

// flush writes the waiting messages. mu is held before and after, and released during writes.
func (l *lineWriter) flush() {
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
	l.crowded.Store(false)
	l.holding.Store(false)
	for rest := out; len(rest) > 0 && l.err == nil; {
		piece := rest[:min(len(rest), maxWritten)]
		rest = rest[len(piece):]
		l.mu.Unlock()
		n, err := l.w.Write(piece)
		l.mu.Lock()
		l.written += int64(n)
		if err != nil && l.err == nil {
			l.err = fmt.Errorf("writing a message: %w", err)
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

// awaitRoom waits while too many messages wait to be written.
func (l *lineWriter) awaitRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.hasRoom() {
		l.room.Wait()
	}
}

// hasRoom reports whether a message can be taken, or never will be. mu is held.
func (l *lineWriter) hasRoom() bool {
	return len(l.waiting) <= maxWaiting || l.err != nil || l.closing
}

func (l *lineWriter) flushAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && l.err == nil {
		l.flush()
	}
	l.done()
	if l.err != nil && l.failed != nil {
		l.failed(l.err)
	}
}

func (l *lineWriter) done() {
	l.writing = false
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// close refuses further messages and waits for the others to be written, as long as the peer takes
// some of them within patience.
func (l *lineWriter) close(patience time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.makeRoom()
	l.startWriting()
	for l.writing && l.err == nil {
		before := l.written
		l.awaitIdle(patience)
		if l.writing && l.written == before && l.err == nil {
			l.err = fmt.Errorf("%w: the peer took none of the last messages for %v", ErrClosed, patience)
		}
	}
	return l.err
}

// awaitIdle waits for the end of writing, for the duration most. mu is held before and after.
func (l *lineWriter) awaitIdle(most time.Duration) {
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	defer l.mu.Lock()
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}
