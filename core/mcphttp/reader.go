package mcphttp

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// A reader is a connection that a stream is sent over. A stream has one at a time: another takes its place.
type reader struct {
	*stream
	next int           // the number of the next event
	woke chan struct{} // there may be something new
	gone bool          // it has to leave,
	last int           // before the event with that number
}

// What has become of a reader.
type readerState int

const (
	readerWaits readerState = iota // there may be more
	readerDone                     // it has seen the whole stream
	readerLeft                     // it was sent away, before the end
	readerLost                     // it has missed something, and cannot come back for it
)

// read returns a reader from an event on.
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

// primeOnce puts a mark into a stream that has nothing in it yet.
func (r *reader) primeOnce() {
	r.mu.Lock()
	empty := r.first+len(r.events) == 0
	r.mu.Unlock()
	if empty {
		r.mark(0)
	}
}

// dismiss sends the reader away, once it has seen all there is.
func (s *stream) dismiss() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dismissLocked(s.first + len(s.events))
}

// dismissLocked sends the reader away before the event with a number: what comes from there on is for another. mu is held.
func (s *stream) dismissLocked(before int) {
	if s.reader != nil {
		s.reader.gone, s.reader.last = true, before
		s.wake()
		s.reader = nil
	}
}

// wake tells the reader that there is something new. mu is held.
func (s *stream) wake() {
	if s.reader == nil {
		return
	}
	select {
	case s.reader.woke <- struct{}{}:
	default: // it knows
	}
}

// mostAtOnce is how many bytes of events are written together, if there are several.
const mostAtOnce = 32 << 10

// more appends events that the reader has not seen, as they are sent.
func (r *reader) more(dst []byte) ([]byte, readerState) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next < r.first {
		if r.whole {
			return dst, readerLost
		}
		r.next = r.first // the client was away for too long, or reads too slowly
	}
	end := r.first + len(r.events)
	if r.gone {
		end = min(end, r.last)
	}
	for ; r.next < end && len(dst) < mostAtOnce; r.next++ {
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

// appendEvent appends the event with a number, as it is sent.
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

// startStream begins the answer to a request of HTTP that is a stream. The client sees that at once.
func (h *Handler) startStream(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = h.headers.sse
	header["Cache-Control"] = h.headers.noCache
	header["X-Accel-Buffering"] = h.headers.noBuffer
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// pump writes a stream to a client until it has seen the whole, is gone or is sent away.
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

// send writes to a client, which has a time to take each piece of it.
func (h *Handler) send(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	for piece := range slices.Chunk(data, mostAtOnce) {
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

// release is the end of a reader. What was kept for it alone is not any more: first what came before the answer.
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
