package clienthttp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A serverEvent is a server-sent event.
type serverEvent struct {
	name string // "message" by default
	data []byte // owned by the caller; may be nil
}

// An eventReader reads server-sent events (text/event-stream).
type eventReader struct {
	lastID string        // last event id; may be empty
	retry  time.Duration // delay before reconnecting, as requested by the server; 0 if not set

	in      *bufio.Reader
	maxSize int // of an event, in bytes
	begun   bool
}

func newEventReader(r io.Reader, maxSize int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 4<<10), maxSize: maxSize}
}

// next returns the next event, which may have only an id. At the end of the stream it drops an
// incomplete event and returns io.EOF.
func (e *eventReader) next() (serverEvent, error) {
	var event serverEvent
	var data []byte
	size, id, hasField := 0, "", false
	for {
		line, err := e.line()
		if err != nil {
			return serverEvent{}, err
		}
		if len(line) == 0 {
			if !hasField {
				size = 0 // keep-alive comments do not add up
				continue
			}
			if id != "" {
				e.lastID = id
			}
			if event.name == "" {
				event.name = "message"
			}
			event.data = data
			return event, nil
		}
		if size += len(line); size > e.maxSize {
			return serverEvent{}, fmt.Errorf("an event is larger than %d bytes", e.maxSize)
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			event.name, hasField = string(value), true
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data, hasField = append(data, value...), true
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id, hasField = string(value), true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line, which is valid until the next call. Lines end with LF or CRLF. A
// single CR, which the format allows too, is not supported.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var part []byte
			part, err = e.in.ReadSlice('\n')
			if line = append(line, part...); len(line) > e.maxSize {
				return nil, fmt.Errorf("an event is larger than %d bytes", e.maxSize)
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
	return bytes.TrimRight(line, "\r\n"), nil
}
