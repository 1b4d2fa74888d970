package jsonrpc

// A Transport carries whole messages between two peers. It does not look into them.
type Transport interface {
	// Send takes a message, and does not keep the slice. The message may leave later, together with others, but no later
	// than at the next Receive. Messages keep their order. Several goroutines may call it. An error means that the
	// transport has ended.
	Send(msg []byte) error

	// Receive returns the next message; the slice belongs to the caller. One goroutine at a time calls it. io.EOF means
	// that the peer has closed the connection; a [*MessageError] means that one message was lost; any other error means
	// that the transport has ended.
	Receive() ([]byte, error)

	// Close sends waiting messages, then ends the transport and, if it can, a pending Receive.
	Close() error
}

// A holder is a transport that can hold messages back while more arrive, so that their answers leave together.
type holder interface {
	// put takes a message as Send does, but leaves the sending to push. If later is true, the transport sends it by
	// itself. Without wait, put does not block: if there is no room, it does not take the message and returns a channel
	// that is closed when there may be room; if it takes the message, later is true.
	put(msg []byte, wait bool) (later bool, room <-chan struct{}, err error)

	// push sends messages that were put, unless they are better held back.
	push() error

	// flush ends holding back until the next Receive. It does not block.
	flush()

	// flushOld is flush if messages were held back already when it was last called. One goroutine at a time calls it.
	flushOld()

	// onFailure is called before all others. f gets the errors of messages that were taken and could not be sent.
	onFailure(f func(error))
}

// A MessageError is the error for a message that was lost.
type MessageError struct {
	ID       ID     // of the message, if it could be seen
	Response bool   // whether it answers a call of ours
	Err      *Error // what the peer is told, unless it is an answer
}

func (e *MessageError) Error() string { return e.Err.Message }
