package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	mostWaiting = 1 << 20  // above so many bytes, senders wait for the writer
	mostKept    = 64 << 10 // a larger buffer is not kept for the next write
	mostWritten = 64 << 10 // of this many bytes at once the peer must take some
)

// lineWriter writes messages, a line each, for several senders. Whoever finds no
// write under way does it, for all who come in the meantime.
type lineWriter struct {
	w     io.Writer
	burst atomic.Bool // more messages have come in and are about to be answered

	mu      sync.Mutex
	room    *sync.Cond // on mu: there may be room in waiting again
	waiting []byte
	spare   []byte
	writing bool
	written int64         // bytes that the peer has taken
	idle    chan struct{} // closed when nothing is being written; made on demand
	err     error
}

func newLineWriter(w io.Writer) *lineWriter {
	l := &lineWriter{w: w}
	l.room = sync.NewCond(&l.mu)
	return l
}

func (l *lineWriter) send(msg []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > mostWaiting && l.err == nil {
		l.room.Wait()
	}
	if l.err != nil {
		return l.err
	}
	start := len(l.waiting)
	l.waiting = append(l.waiting, msg...)
	spaceOut(l.waiting[start:])
	l.waiting = append(l.waiting, '\n')
	if l.writing {
		return nil
	}
	l.writing = true
	l.flush()
	if len(l.waiting) > 0 {
		// The others' messages are not this sender's business.
		go l.flushAll()
		return l.err
	}
	l.done()
	return l.err
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
	if l.burst.Load() {
		// There is more to be answered: let it come along.
		l.mu.Unlock()
		runtime.Gosched()
		l.mu.Lock()
	}
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
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
	if cap(out) <= mostKept {
		l.spare = out
	}
	l.room.Broadcast()
}

// awaitRoom waits while there is more to be written than the peer takes.
func (l *lineWriter) awaitRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > mostWaiting && l.err == nil {
		l.room.Wait()
	}
}

func (l *lineWriter) flushAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && l.err == nil {
		l.flush()
	}
	l.done()
}

func (l *lineWriter) done() {
	l.writing = false
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

// close waits for the messages under way, as long as the peer takes some of them within
// patience, and refuses further ones.
func (l *lineWriter) close(patience time.Duration) error {
	l.mu.Lock()
	if !l.writing {
		err := l.err
		l.refuse()
		l.mu.Unlock()
		return err
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle, written := l.idle, l.written
	l.mu.Unlock()

	tick := time.NewTicker(patience)
	defer tick.Stop()
	for {
		select {
		case <-idle:
		case <-tick.C:
		}
		l.mu.Lock()
		if l.writing && l.written > written {
			written = l.written
			l.mu.Unlock()
			continue
		}
		err := l.err
		if l.writing && err == nil {
			err = fmt.Errorf("writing the last messages: the peer took none of them for %v", patience)
		}
		l.refuse()
		l.mu.Unlock()
		return err
	}
}

func (l *lineWriter) refuse() {
	if l.err == nil {
		l.err = ErrClosed
	}
	l.room.Broadcast()
}
