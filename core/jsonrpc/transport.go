package jsonrpc

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/petrock/petrock/core/internal/burst"
	"github.com/petrock/petrock/core/strictjson"
)

// A Transport carries messages between two peers as opaque bytes.
type Transport interface {
	// Send queues a message and does not keep the slice. The message is sent before the next
	// Receive at the latest. Messages keep their order. Several goroutines may call Send. An error
	// means that the transport has ended.
	Send(msg []byte) error

	// Receive returns the next message; the slice belongs to the caller. One goroutine at a time
	// calls it. io.EOF means that the peer has closed the connection; a [*MessageError] means that
	// one message was lost; any other error means that the transport has ended.
	Receive() ([]byte, error)

	// Close sends queued messages and ends the transport. If possible, it also ends a pending
	// Receive.
	Close() error
}

// Pipe returns two connected transports in memory. When one is closed, the other receives the
// remaining messages and then io.EOF.
func Pipe() (Transport, Transport) {
	a := &queue{Cond: sync.NewCond(new(sync.Mutex))}
	b := &queue{Cond: sync.NewCond(new(sync.Mutex))}
	return &pipe{in: b, out: a}, &pipe{in: a, out: b}
}

// A pipe is one end of [Pipe]. Send never blocks, because queues have no limit.
type pipe struct {
	in, out *queue
}

// A queue holds the messages of one direction, without bound.
type queue struct {
	*sync.Cond // signals a change, and has the lock
	msgs       [][]byte
	closed     bool
}

func (p *pipe) Send(msg []byte) error {
	p.out.L.Lock()
	defer p.out.L.Unlock()
	if p.out.closed {
		return ErrClosed
	}
	p.out.msgs = append(p.out.msgs, slices.Clone(msg))
	p.out.Signal()
	return nil
}

func (p *pipe) Receive() ([]byte, error) {
	p.in.L.Lock()
	defer p.in.L.Unlock()
	for len(p.in.msgs) == 0 && !p.in.closed {
		p.in.Wait()
	}
	if len(p.in.msgs) == 0 {
		return nil, io.EOF
	}
	msg := p.in.msgs[0]
	p.in.msgs = p.in.msgs[1:]
	return msg, nil
}

func (p *pipe) Close() error {
	for _, q := range []*queue{p.out, p.in} {
		q.L.Lock()
		q.closed = true
		q.Broadcast()
		q.L.Unlock()
	}
	return nil
}

// DefaultMaxMessage is the default size limit of a message, in bytes.
const DefaultMaxMessage = 1 << 20

// LinesOptions configure [NewLines].
type LinesOptions struct {
	MaxMessage int // size limit of a received message, in bytes (default [DefaultMaxMessage])
}

// Lines is a [Transport] that reads and writes one message per line.
//
// Blank lines are skipped, and a carriage return at the end of a line is dropped. A line over the
// size limit is discarded, in constant memory, and reported as a [*MessageError].
//
// Lines batches its writes. While it has more complete lines to receive, sent messages are held
// back until those have been received, for a millisecond or two at most. Messages sent during a
// write go out with the next one. A caller that stops receiving in the middle of a burst must call
// [Lines.Close] to send the rest. Receive blocks while the peer does not read, so that the output
// buffer does not grow.
type Lines struct {
	in   *bufio.Reader
	more bool // in has buffered another complete line
	r    io.Reader
	out  burst.Writer
	max  int
}

// NewLines returns a transport that reads from r and writes to w. Close closes both if they
// implement [io.Closer].
func NewLines(r io.Reader, w io.Writer, o LinesOptions) *Lines {
	return &Lines{
		in:  bufio.NewReaderSize(r, 64<<10),
		r:   r,
		out: burst.Writer{W: w},
		max: cmp.Or(max(o.MaxMessage, 0), DefaultMaxMessage),
	}
}

// Writer returns the output, for package peer, which ends bursts early. Other callers use
// [Lines.Send]. It calls onError with the error of the first failed write.
func (l *Lines) Writer(onError func(error)) *burst.Writer {
	l.out.OnError = onError
	return &l.out
}

// Send implements [Transport].
func (l *Lines) Send(msg []byte) error { return l.out.Send(msg) }

// Receive implements [Transport]. Before it may block, it sends the messages that are held back.
func (l *Lines) Receive() ([]byte, error) {
	l.out.AwaitRoom()
	for {
		if !l.more {
			l.out.EndBurst() // reading may block now
		}
		line, err := l.line()
		whole, _ := l.in.Peek(l.in.Buffered())
		l.more = bytes.IndexByte(whole, '\n') >= 0
		l.out.SetBurst(l.more)
		if err != nil {
			return nil, err
		}
		if line = trim(line); len(line) > 0 {
			return line, nil
		}
	}
}

// line returns a copy of the next line, without its newline. The last line may lack one.
func (l *Lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > l.max+len("\r\n") || len(line) > l.max && len(bytes.TrimRight(line, "\r\n")) > l.max {
			return nil, l.skip(line, err)
		}
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				return line, nil
			}
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("read a message: %w", err)
		}
	}
}

// skip discards the rest of a line that is too long. It returns a [*MessageError] with its id.
func (l *Lines) skip(start []byte, err error) error {
	var s envelopeScanner
	s.feed(start)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.in.ReadSlice('\n')
		s.feed(part)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a message: %w", err)
	}
	f := s.fault()
	return &MessageError{ID: f.ID, Response: f.Response, Err: Errorf(InvalidRequest, "the message is larger than %d bytes", l.max)}
}

// Close implements [Transport]. It drops the remaining output if the peer reads none of it for a
// second.
func (l *Lines) Close() error {
	errs := []error{l.out.Close(time.Second)}
	for _, end := range []any{l.out.W, l.r} {
		if c, ok := end.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool { return errors.Is(err, os.ErrClosed) })...)
}

// An envelopeScanner finds the id and the kind of a message that is too large or not valid JSON. It
// takes the message in pieces of any size and uses constant memory.
type envelopeScanner struct {
	depth   int
	quoted  bool // inside a string
	escaped bool // after a backslash
	inValue bool // after the colon of a top-level member

	key, value   []byte // of that member, up to longestKey and longestID
	id           []byte
	ids          int
	hasMethod    bool
	methodIsText bool // the method is a string
	hasResult    bool // the message has a result or an error
}

const (
	longestKey = len(`"method"`) * len(`\u0000`) // every letter may be escaped
	longestID  = 256
)

// feed scans the next piece of the message.
func (s *envelopeScanner) feed(data []byte) {
	if s.key == nil {
		s.key, s.value = make([]byte, 0, longestKey+1), make([]byte, 0, longestID+1)
	}
	for _, c := range data {
		s.step(c)
	}
}

// step scans one byte. Outside of strings, only brackets, commas and colons matter: it collects the
// keys and the starts of the values at the top level.
func (s *envelopeScanner) step(c byte) {
	switch {
	case s.quoted:
		s.quoted = c != '"' || s.escaped
		s.escaped = c == '\\' && !s.escaped
	case c == '"':
		s.quoted = true
	case c == '{' || c == '[':
		if s.depth++; s.depth == 1 {
			return
		}
	case c == '}' || c == ']':
		if s.depth--; s.depth == 0 {
			s.endMember()
			return
		}
	case c == ',' && s.depth == 1:
		s.endMember()
		return
	case c == ':' && s.depth == 1:
		s.inValue = true
		return
	case c <= ' ':
		return
	}
	switch {
	case s.depth < 1:
	case s.inValue && len(s.value) <= longestID:
		s.value = append(s.value, c)
	case !s.inValue && len(s.key) <= longestKey:
		s.key = append(s.key, c)
	}
}

// endMember evaluates the member at the top level that has just ended.
func (s *envelopeScanner) endMember() {
	key := ""
	if s.inValue {
		key, _ = strictjson.Unquote(s.key)
	}
	switch key {
	case "id":
		s.ids++
		s.id = append(s.id[:0], s.value...)
	case "method":
		s.hasMethod = true
		s.methodIsText = s.methodIsText || bytes.HasPrefix(s.value, []byte{'"'})
	case "result", "error":
		s.hasResult = true
	}
	s.key, s.value, s.inValue = s.key[:0], s.value[:0], false
}

// fault returns the kind of the message, and its id if it has exactly one that is valid.
func (s *envelopeScanner) fault() MessageError {
	s.endMember() // if the message ends early
	f := MessageError{
		Response:     s.hasResult && !s.hasMethod,
		Notification: s.methodIsText && s.ids == 0,
	}
	if s.ids == 1 && len(s.id) <= longestID {
		f.ID, _ = ParseID(s.id)
	}
	return f
}
