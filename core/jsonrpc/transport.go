package jsonrpc

// A Transport carries whole messages between two peers. It knows where one ends
// and the next begins, and nothing else about them.
type Transport interface {
	// Send takes a message, and is done with the slice when it returns. The
	// message may leave later, together with others, but does not wait for another call than
	// the next Receive; messages keep their order. Several
	// goroutines may call it. An error means that the transport has ended.
	Send(msg []byte) error

	// Receive returns the next message; the slice belongs to the caller. One
	// goroutine at a time calls it. io.EOF means that the peer has nothing more to
	// say; a [*MessageError] means that one message was lost and the next can
	// be had; any other error means that the transport has ended.
	Receive() ([]byte, error)

	// Close sends what is waiting to be sent, then ends the transport and, if it
	// can, a Receive that is under way.
	Close() error
}

// A holder is a transport that holds messages back while more come in, so that their
// answers leave together. With it a message can be given its place first and sent afterwards.
type holder interface {
	// put takes a message as Send does, but leaves the sending to push, or to somebody
	// else: then later is true, and there is no need to push.
	put(msg []byte) (later bool, err error)

	// push sends what was put, unless it is better held back for now.
	push() error

	// offer takes a message as Send does, but waits for nobody: if there is no room for it, it is not taken, and there may be when the
	// channel is closed, which is nil otherwise.
	offer(msg []byte) (room <-chan struct{}, err error)

	// flush ends holding back until the next Receive, and does not wait for the peer.
	flush()

	// flushOld is flush for what was held back already when it was last called. One goroutine
	// at a time calls it.
	flushOld()

	// onFailure is called before all others. f is told of messages that were taken and could not be sent.
	onFailure(f func(error))
}

// A MessageError is a message that the transport could not take.
type MessageError struct {
	ID       ID     // of the message, if it could be seen
	Response bool   // whether it answers a call of ours
	Err      *Error // what the peer is told, unless it is an answer
}

func (e *MessageError) Error() string { return e.Err.Message }
