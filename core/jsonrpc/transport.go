package jsonrpc

import (
	"io"
	"slices"
	"sync"
)

// A Transport carries whole messages between two peers. It does not look into them.
type Transport interface {
	// Send takes a message, and does not keep the slice. The message may leave later, together with
	// others, but no later than at the next Receive. Messages keep their order. Several goroutines
	// may call it. An error means that the transport has ended.
	Send(msg []byte) error

	// Receive returns the next message; the slice belongs to the caller. One goroutine at a time
	// calls it. io.EOF means that the peer has closed the connection; a [*MessageError] means that
	// one message was lost; any other error means that the transport has ended.
	Receive() ([]byte, error)

	// Close sends waiting messages, then ends the transport and, if it can, a pending Receive.
	Close() error
}

// A MessageError is the error for a message that was lost.
type MessageError struct {
	ID       ID     // of the message, if it could be seen
	Response bool   // whether it answers a call of ours
	Err      *Error // what the peer is told, unless it is an answer
}

func (e *MessageError) Error() string { return e.Err.Message }

// Pipe returns two transports in memory, each the other's peer. What one sends
// the other receives; when one closes, the other receives what is left and then io.EOF.
func Pipe() (Transport, Transport) {
	ab, ba := newQueue(), newQueue()
	return &pipe{in: ba, out: ab}, &pipe{in: ab, out: ba}
}

type pipe struct {
	in, out *queue
}

func (p *pipe) Send(msg []byte) error { return p.out.put(slices.Clone(msg)) }

func (p *pipe) Receive() ([]byte, error) { return p.in.take() }

func (p *pipe) Close() error {
	p.out.close()
	p.in.close()
	return nil
}

// A queue holds the messages of one direction, without bound.
type queue struct {
	mu     sync.Mutex
	more   *sync.Cond
	msgs   [][]byte
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.more = sync.NewCond(&q.mu)
	return q
}

func (q *queue) put(msg []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.msgs = append(q.msgs, msg)
	q.more.Signal()
	return nil
}

func (q *queue) take() ([]byte, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.msgs) == 0 && !q.closed {
		q.more.Wait()
	}
	if len(q.msgs) == 0 {
		return nil, io.EOF
	}
	msg := q.msgs[0]
	q.msgs = q.msgs[1:]
	return msg, nil
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.more.Broadcast()
}
