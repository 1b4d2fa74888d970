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

// A serverEvent is one of a stream of server-sent events.
type serverEvent struct {
	name string // "message" by default
	data []byte // belongs to the caller; nil if there is none
}

// An eventReader reads server-sent events (text/event-stream). It keeps what is needed to resume an
// interrupted stream.
type eventReader struct {
	lastID string        // of the last event that had one; "" if none had
	retry  time.Duration // how long the server wants clients to wait; 0 if it has not said

	in    *bufio.Reader
	max   int // size limit of an event, in bytes
	begun bool
}

func newEventReader(r io.Reader, max int) *eventReader {
	return &eventReader{in: bufio.NewReaderSize(r, 4<<10), max: max}
}

// next returns the next event, which may have an id only. io.EOF is the end of the stream; an
// incomplete event before it is dropped.
func (e *eventReader) next() (serverEvent, error) {
	var event serverEvent
	var data []byte
	size, any, id := 0, false, ""
	for {
		line, err := e.line()
		if err != nil {
			return serverEvent{}, err
		}
		if len(line) == 0 {
			if !any {
				size = 0 // comments keep a stream alive, for days
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
		if size += len(line); size > e.max {
			return serverEvent{}, fmt.Errorf("an event is larger than %d bytes", e.max)
		}
		field, value, _ := bytes.Cut(line, []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(field) {
		case "event":
			event.name, any = string(value), true
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
				e.retry = time.Duration(ms) * time.Millisecond
			}
		}
	}
}

// line returns the next line, which is valid until the next call. Lines end with LF or CRLF. The format
// also allows CR alone, which no MCP server sends.
func (e *eventReader) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			var part []byte
			part, err = e.in.ReadSlice('\n')
			if line = append(line, part...); len(line) > e.max {
				return nil, fmt.Errorf("an event is larger than %d bytes", e.max)
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
