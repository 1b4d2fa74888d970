package mcphttp

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// streams are the streams of one session: one for each call, and one for messages that belong to no
// call. They share a lock and a size limit for events that clients may ask for again.
type streams struct {
	limit int
	hold  func(n int) (exceeded bool) // accounts for n more bytes

	mu    sync.Mutex
	size  int
	tight bool      // the limit of hold is exceeded
	last  int       // the number of the newest
	own   *stream   // for messages that belong to no call; nil until there is one
	calls []*stream // by age
	over  bool
}

func newStreams(limit int, hold func(n int) bool) *streams {
	return &streams{limit: limit, hold: hold}
}

// newStreams returns streams that use the share of a client.
func (h *Handler) newStreams(client string) *streams {
	return newStreams(h.o.ReplayBuffer, func(n int) bool { return h.memory.add(client, int64(n)) })
}

// grow accounts for n more bytes of events. mu is held.
func (all *streams) grow(n int) {
	all.size += n
	all.tight = all.hold(n)
}

// room is how many bytes of events may be kept. mu is held.
func (all *streams) room() int {
	if all.tight {
		return 0
	}
	return all.limit
}

// close releases the memory of the streams. Readers may go on.
func (all *streams) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.hold(-all.size)
	all.hold = func(int) bool { return false }
}

// A stream is a sequence of messages to a client. It outlives the connection that it is sent over,
// so that the client can resume it over another. Adding a message never waits for the client.
type stream struct {
	*streams
	name     string // part of event ids; "" if the stream cannot be resumed
	whole    bool   // a client that misses an event must be disconnected
	events   []event
	first    int  // the number of events[0]
	sent     int  // the number after the last event that was sent
	seen     bool // a client has been sent the whole stream
	bytes    int
	finished int64 // when the last event was added, in nanoseconds since 1970; 0 if there may be more
	reader   *reader
}

// An event is one message, or an id without data that a client can resume from.
type event struct {
	data  []byte
	retry time.Duration // when to reconnect; 0 leaves it to the client
}

// cost is what an event counts for the size limit.
func (e event) cost() int { return len(e.data) + 64 }

func (all *streams) open() *stream {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.last++
	s := &stream{streams: all, name: strconv.FormatInt(int64(all.last), 36)}
	all.calls = append(all.calls, s)
	return s
}

// openOnce starts a stream that ends with its connection. If the client reads too slowly, a whole
// stream ends; any other drops events before the answer.
func (all *streams) openOnce(whole bool) *stream { return &stream{streams: all, whole: whole} }

func (s *stream) lasts() bool { return s.name != "" }

func (all *streams) ownStream() *stream {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.ownLocked()
}

func (all *streams) ownLocked() *stream {
	if all.own == nil {
		all.own = &stream{streams: all, name: "0"}
		if all.over {
			all.own.finished = time.Now().UnixNano()
		}
	}
	return all.own
}

var errSlow = errors.New("the client reads too slowly")

func (s *stream) add(msg []byte) error {
	return s.append(event{data: oneLine(msg)}, false)
}

// mark appends an event without data that the client can resume from.
func (s *stream) mark(retry time.Duration) {
	_ = s.append(event{retry: retry}, false) // no message is lost
}

// finish appends the last message, if it is not nil, and ends the stream.
func (s *stream) finish(msg []byte) {
	if msg == nil {
		s.end()
		return
	}
	_ = s.append(event{data: oneLine(msg)}, true) // a client that is gone misses nothing
}

func oneLine(msg []byte) []byte {
	msg = slices.Clone(msg)
	for i, c := range msg {
		if c == '\n' || c == '\r' { // between values: in strings they are escaped
			msg[i] = ' '
		}
	}
	return msg
}

func (s *stream) append(e event, last bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished != 0 {
		return errAnswered
	}
	s.events = append(s.events, e)
	s.bytes += e.cost()
	s.grow(e.cost())
	if last {
		s.finished = time.Now().UnixNano()
	}
	err := s.makeRoom()
	s.wake()
	return err
}

// makeRoom drops events above the size limit: first streams of finished calls whose clients have
// seen all, then those of other finished calls, then the oldest events of the largest stream, but
// never the latest event of a stream. mu is held.
func (s *stream) makeRoom() error {
	s.dropOver(s, func(old *stream) bool { return old.seen })
	s.dropOver(s, func(*stream) bool { return true })
	for s.size > s.room() {
		largest, spare := s.largest(s)
		if spare <= s.room() {
			break
		}
		largest.forgetFirst(1)
	}
	if s.whole && s.sent < s.first {
		return errSlow
	}
	return nil
}

// dropOver drops streams of finished calls, the oldest first, until there is room. It keeps streams
// that have a reader, that are but, or for which fits reports false. mu is held.
func (all *streams) dropOver(but *stream, fits func(*stream) bool) {
	for i := 0; i < len(all.calls) && all.size > all.room(); {
		if old := all.calls[i]; old != but && old.finished != 0 && old.reader == nil && fits(old) {
			all.drop(old)
		} else {
			i++
		}
	}
}

// largest returns the stream with the most to spare, one included, and what all have to spare. mu
// is held.
func (all *streams) largest(one *stream) (most *stream, spare int) {
	most = one
	look := func(s *stream) {
		spare += s.spare()
		if s.spare() > most.spare() {
			most = s
		}
	}
	for _, s := range all.calls {
		look(s)
	}
	if all.own != nil {
		look(all.own)
	}
	if !one.lasts() {
		look(one) // it is in no list
	}
	return most, spare
}

// spare returns the cost of all events but the latest. mu is held.
func (s *stream) spare() int {
	if len(s.events) == 0 {
		return 0
	}
	return s.bytes - s.events[len(s.events)-1].cost()
}

// forgetFirst drops the first n events. mu is held.
func (s *stream) forgetFirst(n int) {
	for _, e := range s.events[:n] {
		s.grow(-e.cost())
		s.bytes -= e.cost()
	}
	s.events = slices.Delete(s.events, 0, n)
	s.first += n
}

// drop drops the stream of a call. mu is held.
func (all *streams) drop(s *stream) {
	all.grow(-s.bytes)
	all.calls = slices.DeleteFunc(all.calls, func(one *stream) bool { return one == s })
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked()
}

func (s *stream) endLocked() {
	if s.finished == 0 {
		s.finished = time.Now().UnixNano()
	}
	s.wake()
}

func (all *streams) finishAll() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.over = true
	for _, s := range all.calls {
		s.endLocked()
	}
	if all.own != nil {
		all.own.endLocked()
	}
}

func (all *streams) forget(before int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range slices.Clone(all.calls) {
		if s.finished != 0 && s.finished < before && s.reader == nil {
			all.drop(s)
		}
	}
}

// after returns a reader of the events after the one with that id. "" means the stream for messages
// that belong to no call. It reports whether the event exists.
func (all *streams) after(id string) (*reader, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if id == "" {
		own := all.ownLocked()
		return own.readLocked(own.sent), true
	}
	name, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	s := all.named(name)
	if err != nil || s == nil || n < 0 || n >= s.first+len(s.events) {
		return nil, false
	}
	return s.readLocked(n + 1), true
}

// named returns the stream of that name, or nil. mu is held.
func (all *streams) named(name string) *stream {
	if all.own != nil && all.own.name == name {
		return all.own
	}
	for _, s := range all.calls {
		if s.name == name {
			return s
		}
	}
	return nil
}

// A reader is a connection that a stream is sent over. A stream has one at a time: a new one
// replaces the old one.
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

// dismissLocked stops the reader before the event with a number: later ones are for another reader.
// mu is held.
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
	for r.seen && r.size > r.room() && len(r.events) > 1 {
		r.forgetFirst(1)
	}
	r.dropOver(nil, func(old *stream) bool { return old.seen })
}
