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
	mostWaiting = 1 << 20  // above so many bytes, senders wait for the writer
	mostHeld    = 32 << 10 // from so many bytes on, a goroutine of its own writes them
	maxKept    = 64 << 10 // a larger buffer is not kept for the next write
	mostWritten = 64 << 10 // of this many bytes at once the peer must take some
)

// lineWriter writes messages, a line each, for several senders. Whoever finds no
// write under way does it, for all who come in the meantime.
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
	if later, err := l.put(msg); later || err != nil {
		return err
	}
	return l.push()
}

// put takes a message and leaves the writing to push, if it is not to be done later
// by somebody else.
func (l *lineWriter) put(msg []byte) (later bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roomMade()
	return l.take(msg)
}

// offer is put for who does not wait: somebody else does the writing. If there is no room, the message is not taken, and there may be
// when the channel is closed.
func (l *lineWriter) offer(msg []byte) (<-chan struct{}, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.hasRoom() {
		if l.free == nil {
			l.free = make(chan struct{})
		}
		return l.free, nil
	}
	later, err := l.take(msg)
	if !later && err == nil {
		l.startWriting()
	}
	return nil, err
}

// take puts a message among those that wait. mu is held.
func (l *lineWriter) take(msg []byte) (later bool, err error) {
	if l.err != nil {
		return false, l.err
	}
	if l.closing {
		return false, ErrClosed
	}
	start := len(l.waiting)
	l.waiting = append(l.waiting, msg...)
	spaceOut(l.waiting[start:])
	l.waiting = append(l.waiting, '\n')
	if len(l.waiting) > mostWaiting {
		l.crowded.Store(true)
	}
	if l.writing {
		return true, nil
	}
	return l.hold(), nil
}

// hold reports whether what waits is better written together with what comes. It says so in
// holding before it looks at burst for the last time: Receive ends the burst first and looks at
// holding then, so that one of the two sees the other. mu is held.
func (l *lineWriter) hold() bool {
	if len(l.waiting) >= mostHeld || !l.burst.Load() {
		return false
	}
	l.holding.Store(true)
	return l.burst.Load()
}

// push sees to it that what waits is written: here, if it is little; by somebody else, if
// that is being done or it is much; or later, in a burst.
func (l *lineWriter) push() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.writing || len(l.waiting) == 0:
	case l.hold():
	case len(l.waiting) >= mostHeld:
		l.startWriting()
	default:
		l.writing = true
		l.flush()
		if len(l.waiting) == 0 {
			l.done()
		} else {
			go l.flushAll() // the others' messages are not this sender's business
		}
	}
	return l.err
}

// endBurst has written what a burst held back.
func (l *lineWriter) endBurst() {
	l.burst.Store(false)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startWriting()
}

// endOldBurst is endBurst if something was held back already when it was last called.
func (l *lineWriter) endOldBurst() {
	was := l.heldBefore
	if l.heldBefore = l.holding.Load(); was && l.heldBefore {
		l.endBurst()
	}
}

// startWriting lets a goroutine write what waits, unless that is being done. mu is held.
func (l *lineWriter) startWriting() {
	if !l.writing && len(l.waiting) > 0 && l.err == nil {
		l.writing = true
		go l.flushAll()
	}
}

// spaceOut turns the line breaks in a message into spaces. In JSON they are only
// ever white space between values.
func spaceOut(msg []byte) {
	for i := bytes.IndexByte(msg, '\n'); i >= 0; i = bytes.IndexByte(msg, '\n') {
		msg[i] = ' '
		msg = msg[i+1:]
	}
}

// flush writes all that waits. It is called with mu held and returns with it held,
// but lets it go while writing.
func (l *lineWriter) flush() {
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
	l.crowded.Store(false)
	l.holding.Store(false)
	for rest := out; len(rest) > 0 && l.err == nil; {
		piece := rest[:min(len(rest), mostWritten)]
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

// makeRoom tells who waits for room to look again. mu is held.
func (l *lineWriter) makeRoom() {
	l.room.Broadcast()
	if l.free != nil {
		close(l.free)
		l.free = nil
	}
}

// awaitRoom waits while there is more to be written than the peer takes.
func (l *lineWriter) awaitRoom() {
	if !l.crowded.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roomMade()
}

// roomMade returns when there is room, or when waiting for it is of no use. mu is held.
func (l *lineWriter) roomMade() {
	for !l.hasRoom() {
		l.room.Wait()
	}
}

// hasRoom reports whether a message can be taken, or will never be. mu is held.
func (l *lineWriter) hasRoom() bool {
	return len(l.waiting) <= mostWaiting || l.err != nil || l.closing
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

// close refuses further messages and waits for those under way, as long as the peer
// takes some of them within patience. What it has not taken by then is given up.
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

// awaitIdle waits, for a while at most, until nothing is being written. It is called with
// mu held and returns with it held.
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
