package jsonrpc

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"
)

const (
	mostWaiting = 1 << 20  // above so many bytes, senders wait for the writer
	mostKept    = 64 << 10 // a larger buffer is not kept for the next write
)

// lineWriter writes messages, a line each, for several senders. Whoever finds no
// write under way does it, for all who come in the meantime.
type lineWriter struct {
	w io.Writer

	mu      sync.Mutex
	room    *sync.Cond // on mu: there may be room in waiting again
	waiting []byte
	spare   []byte
	writing bool
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

// flush makes one write of all that waits. It is called with mu held and returns
// with it held, but lets it go while writing.
func (l *lineWriter) flush() {
	l.mu.Unlock()
	runtime.Gosched() // the rest of a burst may be on its way: let it come along
	l.mu.Lock()
	out := l.waiting
	l.waiting, l.spare = l.spare[:0], nil
	l.mu.Unlock()
	_, err := l.w.Write(out)
	l.mu.Lock()
	if cap(out) <= mostKept {
		l.spare = out
	}
	if err != nil && l.err == nil {
		l.err = fmt.Errorf("writing a message: %w", err)
	}
	l.room.Broadcast()
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

// close waits at most patience for the messages under way and refuses further ones.
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
	idle := l.idle
	l.mu.Unlock()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	select {
	case <-idle:
	case <-timer.C:
		err = fmt.Errorf("writing the last messages: the peer took none of them for %v", patience)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse()
	return err
}

func (l *lineWriter) refuse() {
	if l.err == nil {
		l.err = ErrClosed
	}
	l.room.Broadcast()
}
