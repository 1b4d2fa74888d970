// Package burst writes the messages of a connection. While a peer's requests arrive in a burst, it
// holds the answers back and writes them together. Package jsonrpc decides when a burst begins, and
// package peer ends it early if a handler takes long.
package burst

import (
	"bytes"
	"context"
	"errors"
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
	maxWritten = 64 << 10 // bytes in one write, which Close uses to detect progress
)

// ErrClosed is returned for messages after [Writer.Close].
var ErrClosed = errors.New("the connection is closed")

// A Writer writes messages, one per line, for several senders. A sender writes its message itself
// unless a write is in progress.
type Writer struct {
	W       io.Writer
	OnError func(error) // called with the error of the first failed write; may be nil

	burst   atomic.Bool // more messages have been received and are about to be answered
	full    atomic.Bool // waiting exceeds maxWaiting
	holding atomic.Bool // waiting messages are held back until EndBurst

	heldBefore bool // the value of holding at the last EndOldBurst

	mu      sync.Mutex
	flushed chan struct{} // closed when waiting may have room, or writing has ended; may be nil
	waiting []byte
	spare   []byte
	writing bool
	written int64 // bytes written so far
	closing bool  // further messages are refused
	err     error
}

// Send queues a message, and writes it unless another goroutine does so.
func (l *Writer) Send(msg []byte) error {
	if later, err := l.Put(context.Background(), msg); later || err != nil {
		return err
	}
	return l.Push()
}

// Put queues a message. later reports that another goroutine will write it, now or at the end of a
// burst; otherwise the caller must call Push or StartWriting. While the queue is full, Put waits,
// until ctx ends.
func (l *Writer) Put(ctx context.Context, msg []byte) (later bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.awaitRoom(ctx); err != nil {
		return false, err
	}
	if l.err != nil {
		return false, l.err
	}
	if l.closing {
		return false, ErrClosed
	}
	start := len(l.waiting)
	l.waiting = append(l.waiting, msg...)
	replaceNewlines(l.waiting[start:])
	l.waiting = append(l.waiting, '\n')
	if len(l.waiting) > maxWaiting {
		l.full.Store(true)
	}
	return l.writing || l.shouldHold(), nil
}

// shouldHold reports whether waiting messages should be written together with later ones. It sets
// holding and then reads burst; EndBurst clears burst and then reads holding. So at least one of
// them sees the change of the other. mu is held.
func (l *Writer) shouldHold() bool {
	if len(l.waiting) >= maxHeld || !l.burst.Load() {
		return false
	}
	l.holding.Store(true)
	return l.burst.Load()
}

// Push writes the waiting messages, unless another goroutine does or they are held back. It leaves
// maxHeld bytes or more to a new goroutine.
func (l *Writer) Push() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.writing || len(l.waiting) == 0:
	case l.shouldHold():
	case len(l.waiting) >= maxHeld:
		l.startWritingLocked()
	default:
		l.writing = true
		l.flush()
		if len(l.waiting) == 0 {
			l.writing = false
		} else {
			go l.flushAll() // other senders have queued messages meanwhile
		}
	}
	return l.err
}

// SetBurst sets whether more messages have been received, so that their answers can be written
// together.
func (l *Writer) SetBurst(more bool) { l.burst.Store(more) }

// EndBurst writes the messages that are held back, on another goroutine, and holds no more back
// until the next SetBurst.
func (l *Writer) EndBurst() {
	l.burst.Store(false)
	if l.holding.Load() {
		l.StartWriting()
	}
}

// EndOldBurst calls EndBurst if messages were already held back at its last call. One goroutine at
// a time may call it.
func (l *Writer) EndOldBurst() {
	was := l.heldBefore
	l.heldBefore = l.holding.Load()
	if was && l.heldBefore {
		l.EndBurst()
	}
}

// StartWriting starts a goroutine that writes the waiting messages, unless a write is in progress.
func (l *Writer) StartWriting() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.startWritingLocked()
}

// startWritingLocked is StartWriting for callers that hold mu.
func (l *Writer) startWritingLocked() {
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
func (l *Writer) flush() {
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
	l.full.Store(false)
	l.holding.Store(false)
	for rest := out; len(rest) > 0 && l.err == nil; {
		piece := rest[:min(len(rest), maxWritten)]
		rest = rest[len(piece):]
		l.mu.Unlock()
		n, err := l.W.Write(piece)
		l.mu.Lock()
		l.written += int64(n)
		if err != nil && l.err == nil {
			l.err = fmt.Errorf("write a message: %w", err)
			if l.OnError != nil {
				l.OnError(l.err)
			}
		}
	}
	if cap(out) <= maxKept {
		l.spare = out
	}
	l.wakeAll()
}

// wakeAll wakes goroutines that wait for nextFlush. mu is held.
func (l *Writer) wakeAll() {
	if l.flushed != nil {
		close(l.flushed)
		l.flushed = nil
	}
}

// nextFlush returns a channel that is closed at the end of the next flush. mu is held.
func (l *Writer) nextFlush() <-chan struct{} {
	if l.flushed == nil {
		l.flushed = make(chan struct{})
	}
	return l.flushed
}

// AwaitRoom waits until the queue has room.
func (l *Writer) AwaitRoom() {
	if l.full.Load() {
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.awaitRoom(context.Background()) // never fails without a deadline
	}
}

// awaitRoom waits until the queue has room, or returns an error if ctx ends. mu is held, but not
// while it waits.
func (l *Writer) awaitRoom(ctx context.Context) (err error) {
	for len(l.waiting) > maxWaiting && l.err == nil && !l.closing && err == nil {
		flushed := l.nextFlush()
		l.mu.Unlock()
		select {
		case <-flushed:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		l.mu.Lock()
	}
	return err
}

// flushAll writes until no message waits. The caller has set writing, which flushAll clears.
func (l *Writer) flushAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && l.err == nil {
		l.flush()
	}
	l.writing = false
}

// Close refuses further messages and waits until the others are written. It fails if no byte is
// written for timeout.
func (l *Writer) Close(timeout time.Duration) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closing = true
	l.wakeAll()
	l.startWritingLocked()
	for l.writing && l.err == nil {
		// At its end, a flush has written bytes or failed.
		before, flushed := l.written, l.nextFlush()
		l.mu.Unlock()
		select {
		case <-flushed:
		case <-time.After(timeout):
		}
		l.mu.Lock()
		if l.writing && l.written == before && l.err == nil {
			l.err = fmt.Errorf("%w: the peer did not read for %v", ErrClosed, timeout)
		}
	}
	return l.err
}
