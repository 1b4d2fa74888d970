package mcphttp

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// streams are the streams of one session: one for each call, and one for messages that belong to no
// call. They share a lock and a size limit for the events kept for replay.
type streams struct {
	limit int
	hold  func(n int) (exceeded bool) // takes n bytes of the memory quota; n may be negative

	mu         sync.Mutex
	size       int
	overQuota  bool      // the memory quota is exceeded
	last       int       // number of the newest stream
	standalone *stream   // for messages that belong to no call; nil until it is used
	calls      []*stream // oldest first
	ended      bool
}

func (h *Handler) newStreams(client string) *streams {
	return &streams{limit: h.o.ReplayBuffer, hold: func(n int) bool { return h.memoryQuota.takeUnlimited(client, int64(n)) }}
}

// account counts n more bytes of events. mu is held.
func (all *streams) account(n int) {
	all.size += n
	all.overQuota = all.hold(n)
}

// budget returns how many bytes of events may be kept. mu is held.
func (all *streams) budget() int {
	if all.overQuota {
		return 0
	}
	return all.limit
}

// close releases the memory quota of the streams. Readers may continue.
func (all *streams) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.hold(-all.size)
	all.hold = func(int) bool { return false }
}

// A stream is a sequence of messages to a client. It outlives its connection, so that the client can
// resume it over another one. Adding a message never waits for the client.
type stream struct {
	all       *streams
	name      string // part of event ids; "" if the stream cannot be resumed
	lossless  bool   // a client that misses an event must be disconnected
	events    []event
	first     int  // the number of events[0]
	sent      int  // the number after the last event that was sent
	delivered bool // a client got the whole stream
	bytes     int
	finished  int64 // when the stream ended, in Unix nanoseconds; 0 if it is open
	reader    *reader
}

// An event is a message, or only an id from which a client can resume.
type event struct {
	data  []byte
	retry time.Duration // when to reconnect; 0 leaves it to the client
}

// cost is the number of bytes that an event counts toward the size limit.
func (e event) cost() int { return len(e.data) + 64 }

func (all *streams) openForCall() *stream {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.last++
	s := &stream{all: all, name: strconv.FormatInt(int64(all.last), 36)}
	all.calls = append(all.calls, s)
	return s
}

// openTransient returns a stream that ends with its connection. If the client reads too slowly, a
// lossless stream ends; any other drops events before the answer.
func (all *streams) openTransient(lossless bool) *stream {
	return &stream{all: all, lossless: lossless}
}

func (s *stream) isResumable() bool { return s.name != "" }

func (all *streams) standaloneStream() *stream {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.standaloneLocked()
}

func (all *streams) standaloneLocked() *stream {
	if all.standalone == nil {
		all.standalone = &stream{all: all, name: "0"}
		if all.ended {
			all.standalone.finished = time.Now().UnixNano()
		}
	}
	return all.standalone
}

var errSlow = errors.New("the client reads too slowly")

func (s *stream) add(msg []byte) error {
	return s.appendEvent(event{data: oneLine(msg)}, false)
}

// addEmpty appends an event without data that the client can resume from.
func (s *stream) addEmpty(retry time.Duration) {
	_ = s.appendEvent(event{retry: retry}, false)
}

// finish appends the last message, if it is not nil, and ends the stream.
func (s *stream) finish(msg []byte) {
	if msg == nil {
		s.end()
		return
	}
	_ = s.appendEvent(event{data: oneLine(msg)}, true)
}

// oneLine returns a copy of a message without line breaks, which would end the data of an event.
func oneLine(msg []byte) []byte {
	msg = slices.Clone(msg)
	for i, c := range msg {
		if c == '\n' || c == '\r' { // only between values: strings have them escaped
			msg[i] = ' '
		}
	}
	return msg
}

func (s *stream) appendEvent(e event, last bool) error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.finished != 0 {
		return errAnswered
	}
	s.events = append(s.events, e)
	s.bytes += e.cost()
	s.all.account(e.cost())
	if last {
		s.finished = time.Now().UnixNano()
	}
	err := s.trim()
	s.wake()
	return err
}

// trim drops events above the size limit, in this order: delivered streams of finished calls, other
// streams of finished calls, the oldest events of the largest stream. The last step keeps the latest
// event of each stream, which does not count toward the limit. mu is held.
func (s *stream) trim() error {
	s.all.dropFinished(s, func(old *stream) bool { return old.delivered })
	s.all.dropFinished(s, func(*stream) bool { return true })
	for s.all.size > s.all.budget() {
		largest, droppable := s.all.largest(s)
		if droppable <= s.all.budget() {
			break
		}
		largest.dropFirst(1)
	}
	if s.lossless && s.sent < s.first {
		return errSlow
	}
	return nil
}

// dropFinished drops streams of finished calls for which match reports true, the oldest first, until
// the size is within the budget. It keeps streams that have a reader, and the stream keep. mu is held.
func (all *streams) dropFinished(keep *stream, match func(*stream) bool) {
	for i := 0; i < len(all.calls) && all.size > all.budget(); {
		if old := all.calls[i]; old != keep && old.finished != 0 && old.reader == nil && match(old) {
			all.drop(old)
		} else {
			i++
		}
	}
}

// largest returns the stream with the most droppable bytes, and the droppable bytes of all streams.
// It includes extra, which may be a transient stream. mu is held.
func (all *streams) largest(extra *stream) (largest *stream, droppable int) {
	largest = extra
	consider := func(s *stream) {
		n := s.droppable()
		droppable += n
		if n > largest.droppable() {
			largest = s
		}
	}
	for _, s := range all.calls {
		consider(s)
	}
	if all.standalone != nil {
		consider(all.standalone)
	}
	if !extra.isResumable() {
		consider(extra)
	}
	return largest, droppable
}

// droppable returns the cost of all events but the latest. mu is held.
func (s *stream) droppable() int {
	if len(s.events) == 0 {
		return 0
	}
	return s.bytes - s.events[len(s.events)-1].cost()
}

// dropFirst drops the first n events. mu is held.
func (s *stream) dropFirst(n int) {
	for _, e := range s.events[:n] {
		s.all.account(-e.cost())
		s.bytes -= e.cost()
	}
	s.events = slices.Delete(s.events, 0, n)
	s.first += n
}

// drop removes the stream of a call. mu is held.
func (all *streams) drop(s *stream) {
	all.account(-s.bytes)
	all.calls = slices.DeleteFunc(all.calls, func(one *stream) bool { return one == s })
}

// end ends the stream without a further message.
func (s *stream) end() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.endLocked()
}

func (s *stream) endLocked() {
	if s.finished == 0 {
		s.finished = time.Now().UnixNano()
	}
	s.wake()
}

func (all *streams) endAll() {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.ended = true
	for _, s := range all.calls {
		s.endLocked()
	}
	if all.standalone != nil {
		all.standalone.endLocked()
	}
}

// dropFinishedBefore drops the streams of calls that finished before a time, in Unix nanoseconds.
func (all *streams) dropFinishedBefore(before int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range slices.Clone(all.calls) {
		if s.finished != 0 && s.finished < before && s.reader == nil {
			all.drop(s)
		}
	}
}

// resumeAfter returns a reader that continues after the event with an id, or on the standalone
// stream if id is "". It reports whether the event exists.
func (all *streams) resumeAfter(id string) (*reader, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if id == "" {
		s := all.standaloneLocked()
		return s.readLocked(s.sent), true
	}
	name, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	s := all.byName(name)
	if err != nil || s == nil || n < 0 || n >= s.first+len(s.events) {
		return nil, false
	}
	return s.readLocked(n + 1), true
}

func (all *streams) byName(name string) *stream {
	if all.standalone != nil && all.standalone.name == name {
		return all.standalone
	}
	for _, s := range all.calls {
		if s.name == name {
			return s
		}
	}
	return nil
}

// A reader sends a stream over one connection. A new reader of a stream replaces the old one.
type reader struct {
	stream    *stream
	next      int           // the number of the next event
	wakeup    chan struct{} // wakes the reader up for new events
	dismissed bool          // must stop before the event with the number stopAt
	stopAt    int
}

// A readerState is the state of a reader after appendPending, or the reason why writeStream returned.
type readerState int

const (
	readerWaits        readerState = iota // waits for more events
	readerDone                            // has sent the whole stream
	readerDismissed                       // was stopped: replaced by a new reader, or suspended
	readerLost                            // has missed events of a lossless stream
	readerDisconnected                    // a write failed, or the context of the request ended
)

func (s *stream) read(from int) *reader {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	return s.readLocked(from)
}

func (s *stream) readLocked(from int) *reader {
	s.dismissLocked(0)
	s.reader = &reader{stream: s, next: from, wakeup: make(chan struct{}, 1)}
	return s.reader
}

// primeOnce adds an event to an empty stream, so that the client gets an id to resume from.
func (r *reader) primeOnce() {
	s := r.stream
	s.all.mu.Lock()
	empty := s.first+len(s.events) == 0
	s.all.mu.Unlock()
	if empty {
		s.addEmpty(0)
	}
}

// dismiss stops the reader once it has sent all events.
func (s *stream) dismiss() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.dismissLocked(s.first + len(s.events))
}

// dismissLocked stops the reader before the event with a number. mu is held.
func (s *stream) dismissLocked(before int) {
	if s.reader != nil {
		s.reader.dismissed, s.reader.stopAt = true, before
		s.wake()
		s.reader = nil
	}
}

// wake wakes the reader up for new events. mu is held.
func (s *stream) wake() {
	if s.reader == nil {
		return
	}
	select {
	case s.reader.wakeup <- struct{}{}:
	default:
	}
}

// writeSize is the size of one write, in bytes. A batch of events ends once it has reached it.
const writeSize = 32 << 10

// appendPending appends events that the reader has not sent, as server-sent events.
func (r *reader) appendPending(dst []byte) ([]byte, readerState) {
	s := r.stream
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if r.next < s.first {
		if s.lossless {
			return dst, readerLost
		}
		r.next = s.first // the client was disconnected for too long, or reads too slowly
	}
	end := s.first + len(s.events)
	if r.dismissed {
		end = min(end, r.stopAt)
	}
	for ; r.next < end && len(dst) < writeSize; r.next++ {
		dst = s.encodeEvent(dst, r.next)
	}
	s.sent = max(s.sent, r.next)
	if !s.isResumable() {
		s.dropFirst(r.next - s.first)
	}
	switch {
	case r.next < end:
		return dst, readerWaits
	case r.dismissed:
		return dst, readerDismissed
	case s.finished != 0:
		return dst, readerDone
	}
	return dst, readerWaits
}

func (s *stream) encodeEvent(dst []byte, n int) []byte {
	e := s.events[n-s.first]
	if s.isResumable() {
		dst = fmt.Appendf(dst, "id: %s-%d\n", s.name, n)
	}
	if e.retry > 0 {
		dst = fmt.Appendf(dst, "retry: %d\n", e.retry.Milliseconds())
	}
	return fmt.Appendf(dst, "data: %s\n\n", e.data)
}

// writeStreamHeader sends the header of a response that is a stream.
func (h *Handler) writeStreamHeader(w http.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = h.headers.sse
	header["Cache-Control"] = h.headers.noCache
	header["X-Accel-Buffering"] = h.headers.noBuffer
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

// writeStream writes a stream to a client until the stream ends, the client disconnects or the reader
// is dismissed.
func (h *Handler) writeStream(w http.ResponseWriter, r *http.Request, from *reader) readerState {
	defer from.release()
	control := http.NewResponseController(w)
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	quiet := time.NewTimer(h.o.KeepAlive)
	defer quiet.Stop()
	var buf []byte
	for {
		var state readerState
		if buf, state = from.appendPending(buf[:0]); len(buf) > 0 {
			if h.send(w, control, buf) != nil {
				return readerDisconnected
			}
			quiet.Reset(h.o.KeepAlive)
			if state == readerWaits {
				continue
			}
		}
		switch state {
		case readerWaits:
		case readerLost:
			// A write that fails breaks the connection, which cancels the call.
			_ = control.SetWriteDeadline(time.Unix(1, 0))
			_, _ = w.Write([]byte(":\n\n"))
			_ = control.Flush()
			return state
		case readerDone:
			from.markDelivered()
			return state
		default:
			return state
		}
		select {
		case <-from.wakeup:
		case <-r.Context().Done():
			return readerDisconnected
		case <-quiet.C:
			if h.send(w, control, []byte(":\n\n")) != nil {
				return readerDisconnected
			}
			quiet.Reset(h.o.KeepAlive)
		}
	}
}

// send writes to a client in pieces. Each piece has its own write timeout.
func (h *Handler) send(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	for piece := range slices.Chunk(data, writeSize) {
		_ = control.SetWriteDeadline(time.Now().Add(h.o.WriteTimeout))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return control.Flush()
}

func (r *reader) markDelivered() {
	r.stream.all.mu.Lock()
	defer r.stream.all.mu.Unlock()
	r.stream.delivered = true
}

// release detaches a reader from its stream, and drops events above the size limit that were kept
// for it.
func (r *reader) release() {
	s := r.stream
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.reader != r {
		return
	}
	s.reader = nil
	for s.delivered && s.all.size > s.all.budget() && len(s.events) > 1 {
		s.dropFirst(1)
	}
	s.all.dropFinished(nil, func(old *stream) bool { return old.delivered })
}
