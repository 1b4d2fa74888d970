package jsonrpc

import (
	"io"
	"slices"
	"sync"
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

// A MessageError describes a message that is invalid or was lost.
type MessageError struct {
	ID           ID     // of the message, or zero if unknown
	Response     bool   // whether the message is a response
	Notification bool   // whether the message is a notification
	Err          *Error // the error to send to the peer, unless the message is one of these
}

func (e *MessageError) Error() string { return e.Err.Message }

// Pipe returns two connected transports in memory. When one is closed, the other receives the
// remaining messages and then io.EOF.
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
