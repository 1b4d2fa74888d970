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
