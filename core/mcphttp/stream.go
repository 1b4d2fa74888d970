package mcphttp

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// streams are the streams of one session: one for each call, and one for messages that belong to no
// call. They share a lock and a size limit for the events kept for replay.
type streams struct {
	limit  int64
	memory *account // of the session, or of the request without one

	standalone *stream // for messages that belong to no call

	mu        sync.Mutex
	size      int64
	overQuota bool      // the memory quota is exceeded
	last      int       // number of the newest stream
	list      []*stream // the standalone stream, then those of calls, oldest first
}

func newStreams(limit int64, memory *account) *streams {
	all := &streams{limit: limit, memory: memory}
	all.standalone = &stream{all: all, name: "0"}
	all.list = []*stream{all.standalone}
	return all
}

// account counts n more bytes of events. mu is held.
func (all *streams) account(n int64) {
	all.size += n
	_ = all.memory.take(n, 0)
	all.overQuota = all.memory.take(0, 1) != nil
}

// budget returns how many bytes of events may be kept. mu is held.
func (all *streams) budget() int64 {
	if all.overQuota {
		return 0
	}
	return all.limit
}

// A stream is a sequence of messages to a client. It outlives its connection, so that the client
// can resume it over another one. Adding a message never waits for the client.
type stream struct {
	all       *streams
	name      string // part of event ids; "" if the stream cannot be resumed
	lossless  bool   // a client that misses an event must be disconnected
	events    []event
	first     int  // the number of events[0]
	sent      int  // the number after the last event that was sent
	delivered bool // a client got the whole stream
	bytes     int64
	finished  time.Time // when the stream ended; zero if it is open
	reader    *reader
}

// An event is a message, or only an id from which a client can resume.
type event struct {
	data  []byte
	retry time.Duration // when to reconnect; 0 leaves it to the client
}

// cost is the number of bytes that an event counts toward the size limit.
func (e event) cost() int64 { return int64(len(e.data)) + 64 }

// open opens the stream of a call and returns its reader. A stream that is not resumable ends with
// its connection. If the client reads too slowly, a lossless stream ends; any other drops events
// before the answer.
func (all *streams) open(resumable, lossless bool) *reader {
	all.mu.Lock()
	defer all.mu.Unlock()
	s := &stream{all: all, lossless: lossless}
	if resumable {
		all.last++
		s.name = strconv.FormatInt(int64(all.last), 36)
	}
	all.list = append(all.list, s)
	return s.read(0)
}

func (s *stream) isResumable() bool { return s.name != "" }

var errSlow = errors.New("the client reads too slowly")

func (s *stream) add(msg []byte) error { return s.appendEvent(event{data: oneLine(msg)}) }

// errAnswered is returned for a message to the client of a call that has been answered.
var errAnswered = errors.New("the call has been answered")

// addEmpty appends an event without data that the client can resume from.
func (s *stream) addEmpty(retry time.Duration) { _ = s.appendEvent(event{retry: retry}) }

// finish appends the last message, if it is not nil, and ends the stream.
func (s *stream) finish(msg []byte) {
	if msg != nil {
		_ = s.add(msg)
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.end()
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

func (s *stream) appendEvent(e event) error {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if !s.finished.IsZero() {
		return errAnswered
	}
	s.events = append(s.events, e)
	s.bytes += e.cost()
	s.all.account(e.cost())
	err := s.trim()
	s.wake()
	return err
}

// trim drops events above the size limit, in this order: delivered streams of finished calls, other
// streams of finished calls, the oldest events of the largest stream. The last step keeps the
// latest event of each stream, which does not count toward the limit. mu is held.
func (s *stream) trim() error {
	s.all.shrink(func(old *stream) bool { return old != s && old.delivered })
	s.all.shrink(func(old *stream) bool { return old != s })
	for s.all.size > s.all.budget() {
		largest, droppable := s.all.largest()
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

// shrink is dropFinished until the size is within the budget. mu is held.
func (all *streams) shrink(match func(*stream) bool) {
	if all.size > all.budget() {
		all.dropFinished(func(s *stream) bool { return all.size > all.budget() && match(s) })
	}
}

// dropFinished drops streams of finished calls for which match reports true, the oldest first. It
// keeps streams that have a reader. mu is held.
func (all *streams) dropFinished(match func(*stream) bool) {
	all.list = slices.DeleteFunc(all.list, func(s *stream) bool {
		drop := !s.finished.IsZero() && s.reader == nil && s != all.standalone && match(s)
		if drop {
			all.account(-s.bytes)
		}
		return drop
	})
}

// largest returns the stream with the most droppable bytes, and the droppable bytes of all streams.
// mu is held.
func (all *streams) largest() (largest *stream, droppable int64) {
	largest = all.standalone
	for _, s := range all.list {
		droppable += s.droppable()
		if s.droppable() > largest.droppable() {
			largest = s
		}
	}
	return largest, droppable
}

// droppable returns the cost of all events but the latest. mu is held.
func (s *stream) droppable() int64 {
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

// end ends the stream without a further message. mu is held.
func (s *stream) end() {
	if s.finished.IsZero() {
		s.finished = time.Now()
	}
	s.wake()
}

func (all *streams) endAll() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.list {
		s.end()
	}
}

// dropFinishedBefore drops the streams of calls that finished before a time.
func (all *streams) dropFinishedBefore(before time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.dropFinished(func(s *stream) bool { return s.finished.Before(before) })
}

// resumeAfter returns a reader that continues after the event with an id, or on the standalone
// stream if id is "". It reports whether the event exists.
func (all *streams) resumeAfter(id string) (*reader, bool) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if id == "" {
		return all.standalone.read(all.standalone.sent), true
	}
	name, number, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(number)
	at := slices.IndexFunc(all.list, func(s *stream) bool { return s.name == name })
	if err != nil || at < 0 || n < 0 || n >= all.list[at].next() {
		return nil, false
	}
	return all.list[at].read(n + 1), true
}

// next returns the number of the next event. mu is held.
func (s *stream) next() int { return s.first + len(s.events) }

// A reader sends a stream over one connection. A new reader of a stream replaces the old one.
type reader struct {
	stream *stream
	next   int           // the number of the next event
	wakeup chan struct{} // wakes the reader up for new events
	stopAt int           // must stop before the event with this number
}

// A readerState is the state of a reader after appendPending, or the reason why writeStream
// returned.
type readerState int

const (
	readerWaits        readerState = iota // waits for more events
	readerDone                            // has sent the whole stream
	readerDismissed                       // was stopped: replaced by a new reader, or suspended
	readerLost                            // has missed events of a lossless stream
	readerDisconnected                    // a write failed, or the context of the request ended
)

// read returns a new reader that starts with the event of a number. mu is held.
func (s *stream) read(from int) *reader {
	s.dismissLocked(0)
	s.reader = &reader{stream: s, next: from, wakeup: make(chan struct{}, 1), stopAt: math.MaxInt}
	return s.reader
}

// primeOnce adds an event to an empty stream, so that the client gets an id to resume from.
func (r *reader) primeOnce() {
	s := r.stream
	s.all.mu.Lock()
	empty := s.next() == 0
	s.all.mu.Unlock()
	if empty {
		s.addEmpty(0)
	}
}

// dismiss stops the reader once it has sent all events.
func (s *stream) dismiss() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.dismissLocked(s.next())
}

// dismissLocked stops the reader before the event with a number. mu is held.
func (s *stream) dismissLocked(before int) {
	if s.reader != nil {
		s.reader.stopAt = before
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
	end := min(s.next(), r.stopAt)
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
	case r.next >= r.stopAt:
		return dst, readerDismissed
	case !s.finished.IsZero():
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

// release detaches a reader from its stream, and drops events above the size limit that were kept
// for it. delivered reports whether the client got the whole stream.
func (r *reader) release(delivered bool) {
	s := r.stream
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.delivered = s.delivered || delivered
	if s.reader != r {
		return
	}
	s.reader = nil
	for s.delivered && s.all.size > s.all.budget() && len(s.events) > 1 {
		s.dropFirst(1)
	}
	s.all.shrink(func(old *stream) bool { return old.delivered })
}
