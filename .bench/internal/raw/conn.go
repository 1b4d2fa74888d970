// Package raw is an HTTP/1.1 client without net/http. It sends encoded requests, and parses only
// the necessary parts of responses. So a load generator needs less CPU than the servers that it
// tests, and can send requests that net/http refuses to send.
package raw

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
)

// A Conn is a connection to a server. It is not safe for concurrent use.
type Conn struct {
	net.Conn
	in   *bufio.Reader
	head Head
	body []byte
}

// A Head has the status and some headers of a response.
type Head struct {
	Status  int
	Session string // Mcp-Session-Id
	Events  bool   // the body is an event stream
	Close   bool   // the server closes the connection

	chunked bool
	length  int  // of the body, unless it is chunked
	endless bool // the body ends with the connection
}

// Dial connects to a server.
func Dial(addr string) (*Conn, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return New(conn), nil
}

// New returns a Conn that uses conn.
func New(conn net.Conn) *Conn {
	return &Conn{Conn: conn, in: bufio.NewReaderSize(conn, 4<<10)}
}

// Do sends a request and reads the response. The body is valid until the next response.
func (c *Conn) Do(request []byte) (Head, []byte, error) {
	head, err := c.Ask(request)
	if err != nil {
		return head, nil, err
	}
	body, err := c.Body()
	return head, body, err
}

// Ask sends a request and reads the head of the response.
func (c *Conn) Ask(request []byte) (Head, error) {
	if _, err := c.Write(request); err != nil {
		return Head{}, err
	}
	return c.Head()
}

// Head reads the head of the next response.
func (c *Conn) Head() (Head, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return Head{}, err
	}
	c.head = Head{endless: true}
	if len(line) < len("HTTP/1.1 200") || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return Head{}, fmt.Errorf("not an HTTP/1 response: %q", line)
	}
	if c.head.Status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return Head{}, fmt.Errorf("invalid status: %q", line)
	}
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return Head{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if err := c.head.note(line); err != nil {
			return Head{}, err
		}
	}
	if c.head.Status == 202 && c.head.endless || c.head.Status == 204 || c.head.Status == 304 {
		c.head.endless, c.head.length = false, 0
	}
	return c.head, nil
}

// note parses a header.
func (h *Head) note(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 0 {
			return fmt.Errorf("invalid length: %q", line)
		}
		h.length, h.endless = n, false
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked, h.endless = true, false
	case bytes.EqualFold(name, []byte("Content-Type")):
		h.Events = bytes.HasPrefix(value, []byte("text/event-stream"))
	case bytes.EqualFold(name, []byte("Mcp-Session-Id")):
		h.Session = string(value)
	case bytes.EqualFold(name, []byte("Connection")):
		h.Close = bytes.EqualFold(value, []byte("close"))
	}
	return nil
}

// Body reads the body of the response. It is valid until the next response.
func (c *Conn) Body() ([]byte, error) {
	c.body = c.body[:0]
	switch {
	case c.head.chunked:
		for {
			n, err := c.chunk()
			if err != nil || n == 0 {
				return c.body, err
			}
			if err := c.take(n); err != nil {
				return nil, err
			}
			if _, err := c.in.Discard(len("\r\n")); err != nil {
				return nil, err
			}
		}
	case c.head.endless:
		rest, err := io.ReadAll(c.in)
		c.body = append(c.body, rest...)
		return c.body, err
	}
	return c.body, c.take(c.head.length)
}

// take appends the next n bytes to the body.
func (c *Conn) take(n int) error {
	have := len(c.body)
	if cap(c.body) < have+n {
		c.body = append(make([]byte, 0, 2*(have+n)), c.body...)
	}
	c.body = c.body[:have+n]
	_, err := io.ReadFull(c.in, c.body[have:])
	return err
}

// chunk reads the length of the next chunk. At the end of the body, it reads the trailer and
// returns 0.
func (c *Conn) chunk() (int, error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	size, _, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(";"))
	n, err := strconv.ParseUint(string(size), 16, 31)
	if err != nil {
		return 0, fmt.Errorf("invalid chunk length: %q", line)
	}
	if n > 0 {
		return int(n), nil
	}
	for { // the trailer
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, fmt.Errorf("read the end of the body: %w", err)
		}
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			return 0, nil
		}
	}
}
