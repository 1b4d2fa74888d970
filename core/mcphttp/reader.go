package mcphttp

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A reader is a connection that a stream is sent over. A stream has one at a time: a new one replaces the old one.
type reader struct {
	*stream
	next int           // the number of the next event
	woke chan struct{} // there may be new events
	gone bool          // it must stop
	last int           // before the event with this number
}

// A readerState is what a reader does next.
type readerState int

const (
	readerWaits readerState = iota // waits for more events
	readerDone                     // it has seen the whole stream
	readerLeft                     // it was dismissed before the end
	readerLost                     // it has missed events of a whole stream
)

// read returns a reader that starts with an event.
func (s *stream) read(from int) *reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.readLocked(from)
}

func (s *stream) readLocked(from int) *reader {
	s.dismissLocked(0)
	s.reader = &reader{stream: s, next: from, woke: make(chan struct{}, 1)}
	return s.reader
}

// primeOnce marks a stream that is empty.
func (r *reader) primeOnce() {
	r.mu.Lock()
	empty := r.first+len(r.events) == 0
	r.mu.Unlock()
	if empty {
		r.mark(0)
	}
}

// dismiss stops the reader once it has sent all events.
func (s *stream) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissLocked(s.first + len(s.events))
}

// dismissLocked stops the reader before the event with a number: later ones are for another reader. mu is held.
func (s *stream) dismissLocked(before int) {
	if s.reader != nil {
		s.reader.gone, s.reader.last = true, before
		s.wake()
		s.reader = nil
	}
}

// wake tells the reader that there are new events. mu is held.
func (s *stream) wake() {
	if s.reader == nil {
		return
	}
	select {
	case s.reader.woke <- struct{}{}:
	default: // it has been told
	}
}

// maxAtOnce is how many bytes of events are written together.
const maxAtOnce = 32 << 10

// more appends events that the reader has not sent, in the format of the stream.
func (r *reader) more(dst []byte) ([]byte, readerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next < r.first {
		if r.whole {
			return dst, readerLost
		}
		r.next = r.first // the client was gone for too long, or reads too slowly
	}
	end := r.first + len(r.events)
	if r.gone {
		end = min(end, r.last)
	}
	for ; r.next < end && len(dst) < maxAtOnce; r.next++ {
		dst = r.appendEvent(dst, r.next)
	}
	r.sent = max(r.sent, r.next)
	if !r.lasts() {
		r.forgetFirst(r.next - r.first)
	}
	switch {
	case r.next < end:
		return dst, readerWaits
	case r.gone:
		return dst, readerLeft
	case r.finished != 0:
		return dst, readerDone
	}
	return dst, readerWaits
}

// appendEvent appends the event with a number, in the format of the stream.
func (s *stream) appendEvent(dst []byte, n int) []byte {
	e := s.events[n-s.first]
	if s.lasts() {
		dst = append(dst, "id: "...)
		dst = append(dst, s.name...)
		dst = append(dst, '-')
		dst = strconv.AppendInt(dst, int64(n), 10)
		dst = append(dst, '\n')
	}
	if e.retry > 0 {
		dst = append(dst, "retry: "...)
		dst = strconv.AppendInt(dst, e.retry.Milliseconds(), 10)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	dst = append(dst, e.data...)
	return append(dst, "\n\n"...)
}

// startStream starts a response that is a stream. The client gets its header at once.
func (h *Handler) startStream(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = h.headers.sse
	header["Cache-Control"] = h.headers.noCache
	header["X-Accel-Buffering"] = h.headers.noBuffer
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// pump writes a stream to a client until it is complete, the client is gone or the reader is dismissed.
func (h *Handler) pump(w http.ResponseWriter, r *http.Request, from *reader) readerState {
	defer from.release()
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	quiet := time.NewTimer(h.o.KeepAlive)
	defer quiet.Stop()
	var buf []byte
	for {
		var state readerState
		if buf, state = from.more(buf[:0]); len(buf) > 0 {
			if h.send(w, control, buf) != nil {
				return readerDone
			}
			quiet.Reset(h.o.KeepAlive)
			if state == readerWaits {
				continue
			}
		}
		switch state {
		case readerWaits:
		case readerLost:
			// A write that cannot succeed breaks the connection, and with it the call.
			_ = control.SetWriteDeadline(time.Unix(1, 0))
			_, _ = w.Write([]byte(":\n\n"))
			_ = control.Flush()
			return state
		case readerDone:
			from.done()
			return state
		default:
			return state
		}
		select {
		case <-from.woke:
		case <-r.Context().Done():
			return readerDone
		case <-quiet.C:
			if h.send(w, control, []byte(":\n\n")) != nil {
				return readerDone
			}
			quiet.Reset(h.o.KeepAlive)
		}
	}
}

// send writes to a client, which must accept each piece within the write timeout.
func (h *Handler) send(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	for piece := range slices.Chunk(data, maxAtOnce) {
		_ = control.SetWriteDeadline(time.Now().Add(h.o.WriteTimeout))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return control.Flush()
}

// done notes that the reader has been sent the whole stream.
func (r *reader) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = true
}

// release ends a reader, and drops events that were kept for it alone: first those before the answer.
func (r *reader) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stream.reader != r {
		return
	}
	r.stream.reader = nil
	for r.seen && r.size > r.limit && len(r.events) > 1 {
		r.forgetFirst(1)
	}
	r.dropOver(nil, func(old *stream) bool { return old.seen })
}
