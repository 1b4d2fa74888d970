package jsonrpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// DefaultMaxMessage is how large a message may be unless an option says otherwise.
const DefaultMaxMessage = 1 << 20

// LinesOptions are the choices for [NewLines]. The zero value is a good one.
type LinesOptions struct {
	MaxMessage int // the largest message taken, in bytes; 0 means [DefaultMaxMessage]
}

// Lines is the [Transport] of one message a line, on any reader and writer.
//
// Blank lines are skipped, and a carriage return before the end of a line is dropped. A line over
// the limit is read to its end, in constant memory, and reported as a [*MessageError].
//
// A burst of messages takes few writes. Messages that are sent while whole lines wait to be
// received are held back until those have been received, for a millisecond or two at most. Messages
// that are sent during a write leave with the next one. A caller that stops receiving in the middle
// of a burst must call [Lines.Close] to send the rest. While the peer does not read, Receive
// blocks, so that memory does not grow.
type Lines struct {
	in   *bufio.Reader
	more bool // in holds another whole line
	r    io.Reader
	out  *lineWriter
	max  int
}

// NewLines returns a transport that reads from r and writes to w. Close closes
// both, if they can be closed.
func NewLines(r io.Reader, w io.Writer, o LinesOptions) *Lines {
	if o.MaxMessage <= 0 {
		o.MaxMessage = DefaultMaxMessage
	}
	return &Lines{
		in:  bufio.NewReaderSize(r, 64<<10),
		r:   r,
		out: newLineWriter(w),
		max: o.MaxMessage,
	}
}

func (l *Lines) Send(msg []byte) error { return l.out.send(msg) }

func (l *Lines) Receive() ([]byte, error) {
	if l.out.crowded.Load() {
		l.out.awaitRoom()
	}
	for {
		if !l.more && l.out.holding.Load() {
			l.out.endBurst() // reading may block now
		}
		line, err := l.line()
		whole, _ := l.in.Peek(l.in.Buffered())
		l.more = bytes.IndexByte(whole, '\n') >= 0
		if l.out.burst.Load() != l.more {
			l.out.burst.Store(l.more)
		}
		if err != nil {
			return nil, err
		}
		if n := len(line); n > 0 && (line[0] <= ' ' || line[n-1] <= ' ') {
			line = bytes.Trim(line, whiteSpace)
		}
		if len(line) > 0 {
			return line, nil
		}
	}
}

// line returns the next line as a slice of its own, without its end. The last one need not
// end in a newline.
func (l *Lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > l.max+len("\r\n") || len(line) > l.max && len(cutEnd(line)) > l.max {
			return nil, l.skip(line, err)
		}
		switch {
		case err == nil:
			return cutEnd(line), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				return line, nil
			}
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("reading a message: %w", err)
		}
	}
}

func cutEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// skip reads a line that is too long to its end, and returns a [*MessageError] with its id.
func (l *Lines) skip(start []byte, err error) error {
	var p peek
	p.feed(start)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.in.ReadSlice('\n')
		p.feed(part)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading a message: %w", err)
	}
	f := p.whose()
	return &MessageError{f.id, f.response, Errorf(InvalidRequest, "the message is larger than %d bytes", l.max)}
}

// Close implements [Transport]. It gives up on output once the peer has taken none of it for a second.
func (l *Lines) Close() error {
	return errors.Join(unlessClosed(l.out.close(time.Second)), closeIfCan(l.out.w), closeIfCan(l.r))
}

func closeIfCan(v any) error {
	if c, ok := v.(io.Closer); ok {
		return unlessClosed(c.Close())
	}
	return nil
}

// unlessClosed returns err, unless it says that the file is closed already.
func unlessClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// peek looks through a message that will not be read, in constant memory, for what an answer to it
// needs. It takes the message in pieces of any size and trusts nothing about it.
type peek struct {
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash
	inValue bool // behind the colon of a member of the top level

	key, value []byte // of that member, as far as they matter
	id         []byte
	ids        int
	isCall     bool // there is a "method"
	isNamed    bool // and it is a string
	isAnswer   bool // there is a "result" or an "error"
}

const (
	longestKey = len(`"method"`) * len(`\u0000`) // every letter may be escaped
	longestID  = 256
)

func (p *peek) feed(data []byte) {
	if p.key == nil {
		p.key, p.value = make([]byte, 0, longestKey+1), make([]byte, 0, longestID+1)
	}
	for _, c := range data {
		p.step(c)
	}
}

func (p *peek) step(c byte) {
	switch {
	case p.quoted:
		p.quoted = c != '"' || p.escaped
		p.escaped = c == '\\' && !p.escaped
	case c == '"':
		p.quoted = true
	case c == '{' || c == '[':
		if p.depth++; p.depth == 1 {
			return
		}
	case c == '}' || c == ']':
		if p.depth--; p.depth == 0 {
			p.endMember()
			return
		}
	case c == ',' && p.depth == 1:
		p.endMember()
		return
	case c == ':' && p.depth == 1:
		p.inValue = true
		return
	case c <= ' ':
		return
	}
	switch {
	case p.depth < 1:
	case p.inValue && len(p.value) <= longestID:
		p.value = append(p.value, c)
	case !p.inValue && len(p.key) <= longestKey:
		p.key = append(p.key, c)
	}
}

// endMember takes note of a member of the top level.
func (p *peek) endMember() {
	key := ""
	if p.inValue {
		key, _ = strictjson.Unquote(p.key)
	}
	switch key {
	case "id":
		p.ids++
		p.id = append(p.id[:0], p.value...)
	case "method":
		p.isCall = true
		p.isNamed = p.isNamed || bytes.HasPrefix(p.value, []byte{'"'})
	case "result", "error":
		p.isAnswer = true
	}
	p.key, p.value, p.inValue = p.key[:0], p.value[:0], false
}

// whose returns the id, if there is exactly one valid one, and whether the message is answered.
func (p *peek) whose() fault {
	p.endMember() // if the message ends early
	f := fault{
		response:     p.isAnswer && !p.isCall,
		notification: p.isNamed && p.ids == 0,
	}
	if p.ids == 1 && len(p.id) <= longestID {
		f.id, _ = ParseID(p.id)
	}
	return f
}
