package raw

import (
	"bufio"
	"bytes"
	"io"
)

// An Event is one of a stream.
type Event struct {
	ID   string
	Data []byte // valid until the next one
}

// A Stream is the body of an answer that is a stream of events.
type Stream struct {
	lines *bufio.Reader
	data  []byte
}

// Events reads the body of the answer, event by event.
func (c *Conn) Events() *Stream {
	return &Stream{lines: bufio.NewReaderSize(&bodyReader{conn: c}, 4<<10)}
}

// Next returns the next event that has data or an id, and io.EOF when the stream has ended properly.
func (s *Stream) Next() (Event, error) {
	var event Event
	s.data = s.data[:0]
	has := false
	for {
		line, err := s.line()
		if err != nil {
			return event, err
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case len(line) == 0 && has:
			event.Data = s.data
			return event, nil
		case string(field) == "data":
			s.data = append(s.data, value...)
			has = true
		case string(field) == "id":
			event.ID = string(value)
			has = true
		}
	}
}

// line reads a line, however long it is.
func (s *Stream) line() ([]byte, error) {
	line, err := s.lines.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		long := bytes.Clone(line)
		rest, err := s.lines.ReadBytes('\n')
		return bytes.TrimRight(append(long, rest...), "\r\n"), err
	}
	if err == io.EOF && len(line) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return bytes.TrimRight(line, "\r\n"), err
}

// Message returns the last message in the body of an answer: the body itself, or the data of the
// last event in it.
func Message(head Head, body []byte) []byte {
	if !head.Events {
		return bytes.TrimRight(body, "\n")
	}
	const data = "\ndata: " // no message has a line's end in it
	i := bytes.LastIndex(body, []byte(data))
	if i < 0 && !bytes.HasPrefix(body, []byte(data[1:])) {
		return nil
	}
	line, _, _ := bytes.Cut(body[max(i, -1)+len(data):], []byte("\n"))
	return line
}

// A bodyReader is the body of an answer, as a reader.
type bodyReader struct {
	conn *Conn
	left int // of the present chunk, or of the body
	last bool
	some bool // it has been read from
}

// Read implements io.Reader.
func (b *bodyReader) Read(p []byte) (int, error) {
	c := b.conn
	switch {
	case c.head.endless:
		return c.in.Read(p)
	case !c.head.chunked:
		if !b.some {
			b.some, b.left = true, c.head.length
		}
		if b.left == 0 {
			return 0, io.EOF
		}
	case b.last:
		return 0, io.EOF
	case b.left == 0:
		n, err := c.chunk()
		if err != nil {
			return 0, unexpected(err)
		}
		if n == 0 {
			b.last = true
			return 0, io.EOF
		}
		b.left = n
	}
	n, err := c.in.Read(p[:min(len(p), b.left)])
	b.left -= n
	if err == nil && b.left == 0 && c.head.chunked {
		_, err = c.in.Discard(len("\r\n"))
	}
	return n, unexpected(err)
}

// unexpected is for an end that comes too early.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
