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

// A MessageError is the error for a message that was lost.
type MessageError struct {
	ID       ID     // of the message, if it could be seen
	Response bool   // whether it answers a call of ours
	Err      *Error // what the peer is told, unless it is an answer
}

func (e *MessageError) Error() string { return e.Err.Message }
