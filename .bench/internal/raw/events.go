package raw

import (
	"bufio"
	"bytes"
	"io"
)

// An Event is an event of a [Stream].
type Event struct {
	ID   string
	Data []byte // valid until the next event
}

// A Stream reads an event stream.
type Stream struct {
	lines *bufio.Reader
	data  []byte
}

// Events returns a reader of the events in the body of the response.
func (c *Conn) Events() *Stream {
	return &Stream{lines: bufio.NewReaderSize(&bodyReader{conn: c}, 4<<10)}
}

// Next returns the next event that has data or an id, or io.EOF at the end of a complete stream.
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

// line reads a line of any length.
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

// Message returns the last message in the body of a response: the body itself, or the data of its
// last event.
func Message(head Head, body []byte) []byte {
	if !head.Events {
		return bytes.TrimRight(body, "\n")
	}
	const data = "\ndata: " // messages contain no line breaks
	i := bytes.LastIndex(body, []byte(data))
	if i < 0 && !bytes.HasPrefix(body, []byte(data[1:])) {
		return nil
	}
	line, _, _ := bytes.Cut(body[max(i, -1)+len(data):], []byte("\n"))
	return line
}

// A bodyReader reads the body of a response.
type bodyReader struct {
	conn *Conn
	left int  // bytes of the current chunk, or of the body
	last bool // the last chunk has been read
	some bool // left is set for a body that is not chunked
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

// unexpected returns io.ErrUnexpectedEOF for io.EOF.
func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
