package mcphttp

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// streams are those of one session: of its calls, and the one for what belongs to no call. They share a lock, and the room for
// what has been sent and may be asked for again.
type streams struct {
	limit int

	mu    sync.Mutex
	size  int
	last  int       // the number of the newest
	own   *stream   // for what belongs to no call; nil until there is something
	calls []*stream // by age
	over  bool
}

func newStreams(limit int) *streams { return &streams{limit: limit} }

// A stream is a row of messages to a client. It is kept apart from the connection that it is sent over: that may break, and another go on
// with it; and who writes to it never waits for the client.
type stream struct {
	*streams
	name     string // in the ids of events; "" if nobody can come back to it
	whole    bool   // it is of no use to a client that has missed something
	events   []event
	first    int  // the number of events[0]
	sent     int  // the number behind the last one that was sent to anyone
	seen     bool // somebody has been sent the whole
	bytes    int
	finished int64 // when the last event was added, in nanoseconds since 1970; 0 if there may be more
	reader   *reader
}

// An event is one message, or a mark that a client can come back to.
type event struct {
	data  []byte
	retry time.Duration // when to come back; 0 if that is up to the client
}

// cost is how much of the room an event takes.
func (e event) cost() int { return len(e.data) + 64 }

// open begins the stream of a call.
func (all *streams) open() *stream {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.last++
	s := &stream{streams: all, name: strconv.FormatInt(int64(all.last), 36)}
	all.calls = append(all.calls, s)
	return s
}

// openOnce begins a stream that is over when its connection is. If it has to be whole, that is so when the client reads too slowly; else
// the client misses some of what comes before the answer.
func (all *streams) openOnce(whole bool) *stream { return &stream{streams: all, whole: whole} }

// lasts reports whether a client that lost its connection can come back to the stream.
func (s *stream) lasts() bool { return s.name != "" }

// ownStream is the stream for what belongs to no call.
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

var errSlow = errors.New("the client does not read what it is sent")

// add puts a message at the end.
func (s *stream) add(msg []byte) error {
	return s.append(event{data: oneLine(msg)}, false)
}

// mark puts a place there that the client can come back to, if it can at all.
func (s *stream) mark(retry time.Duration) {
	_ = s.append(event{retry: retry}, false) // there is no message to be lost
}

// finish puts the last message there, if there is one, and ends the stream.
func (s *stream) finish(msg []byte) {
	if msg == nil {
		s.end()
		return
	}
	_ = s.append(event{data: oneLine(msg)}, true) // who is gone misses nothing
}

// oneLine is a copy of a message without line breaks.
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
	s.size += e.cost()
	if last {
		s.finished = time.Now().UnixNano()
	}
	err := s.makeRoom()
	s.wake()
	return err
}

// makeRoom forgets what is too much: first calls that are over and whose clients have seen all, then others that are over, then what is oldest of the
// stream that takes most, but never the latest of one. mu is held.
func (s *stream) makeRoom() error {
	s.dropOver(s, func(old *stream) bool { return old.seen })
	s.dropOver(s, func(*stream) bool { return true })
	for s.size > s.limit {
		largest, spare := s.largest(s)
		if spare <= s.limit {
			break
		}
		largest.forgetFirst(1)
	}
	if s.whole && s.sent < s.first {
		return errSlow
	}
	return nil
}

// dropOver forgets calls that are over, by age, until there is room: those that fit, nobody reads, and are not but. mu is held.
func (all *streams) dropOver(but *stream, fits func(*stream) bool) {
	for i := 0; i < len(all.calls) && all.size > all.limit; {
		if old := all.calls[i]; old != but && old.finished != 0 && old.reader == nil && fits(old) {
			all.drop(old)
		} else {
			i++
		}
	}
}

// largest returns the stream that has most to spare, one among all of which also is, and what all have. mu is held.
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

// spare is how much room all events but the latest take. mu is held.
func (s *stream) spare() int {
	if len(s.events) == 0 {
		return 0
	}
	return s.bytes - s.events[len(s.events)-1].cost()
}

// forgetFirst forgets the first n events. mu is held.
func (s *stream) forgetFirst(n int) {
	for _, e := range s.events[:n] {
		s.size -= e.cost()
		s.bytes -= e.cost()
	}
	s.events = slices.Delete(s.events, 0, n)
	s.first += n
}

// drop forgets the stream of a call. mu is held.
func (all *streams) drop(s *stream) {
	all.size -= s.bytes
	all.calls = slices.DeleteFunc(all.calls, func(one *stream) bool { return one == s })
}

// end ends the stream without a last message.
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

// finishAll ends all streams.
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

// forget drops the streams of calls that were over before a time.
func (all *streams) forget(before int64) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range slices.Clone(all.calls) {
		if s.finished != 0 && s.finished < before && s.reader == nil {
			all.drop(s)
		}
	}
}

// after returns a reader of what comes behind the event with that id; "" is for what belongs to no call. It reports
// whether there is such an event.
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
