package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// An Event is one of a stream of server-sent events.
type Event struct {
	Name string // "message" unless it says otherwise
	Data []byte // belongs to the caller; nil if there is none
}

// Events reads server-sent events (text/event-stream) one by one. It keeps what a reader needs to take up a stream that was
// cut: the id of the last event, and how long to wait before.
type Events struct {
	LastID string        // of the last event that had one; "" if none had
	Retry  time.Duration // what the peer wants waited; 0 if it has not said

	in    *bufio.Reader
	most  int
	begun bool
}

// NewEvents returns a reader of the events in r, of which none may have more than most bytes; 0 means [DefaultMaxMessage].
func NewEvents(r io.Reader, most int) *Events {
	if most <= 0 {
		most = DefaultMaxMessage
	}
	return &Events{in: bufio.NewReaderSize(r, 4<<10), most: most}
}

// Next returns the next event. One that has neither a name nor data but an id is returned too: it tells where the stream is.
// io.EOF is the end of the stream; what stands there unfinished is dropped.
func (e *Events) Next() (Event, error) {
	var event Event
	var data []byte
	size, any, id := 0, false, ""
	for {
		line, err := e.line()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if !any {
				size = 0 // comments keep a stream alive, for days
				continue
			}
			if id != "" {
				e.LastID = id
			}
			if event.Name == "" {
				event.Name = "message"
			}
			event.Data = data
			return event, nil
		}
		if size += len(line); size > e.most {
			return Event{}, fmt.Errorf("an event is larger than %d bytes", e.most)
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			event.Name, any = string(value), true
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data, any = append(data, value...), true
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id, any = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.Retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line, which is good until the one after it is read. It ends with a line feed, with a carriage return before it or not;
// a carriage return alone, which ends a line too, is one that no peer of JSON-RPC sends.
func (e *Events) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var part []byte
			part, err = e.in.ReadSlice('\n')
			if line = append(line, part...); len(line) > e.most {
				return nil, fmt.Errorf("an event is larger than %d bytes", e.most)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if !e.begun {
		e.begun = true
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
	}
	return cutEnd(line), nil
}
