package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// A Message is one that arrived in another way than over a transport, such as in an HTTP request. [Conn.Receive] handles
// it, once.
type Message struct {
	incoming
	batch   []byte // the whole array, if it is one
	request Request
}

// Parse takes a message apart. It keeps raw, which is not to be changed any more.
func (m *Message) Parse(raw []byte) {
	*m = Message{}
	if raw = bytes.Trim(raw, whiteSpace); strictjson.First(raw) == '[' {
		m.batch = raw
	} else {
		m.message, m.fault = parse(raw)
	}
}

// Fault is what is wrong with the message, or nil; what is wrong within a batch, or with it, is not seen here.
func (m *Message) Fault() *Error {
	if m.fault == nil {
		return nil
	}
	return m.fault.err
}

// IsBatch reports whether it is an array of messages.
func (m *Message) IsBatch() bool { return m.batch != nil }

// IsRequest reports whether it is a request: one that wants an answer.
func (m *Message) IsRequest() bool { return m.method != "" && !m.id.IsZero() }

// Requests is how many there are: more than one may be in a batch.
func (m *Message) Requests() (n int) {
	switch {
	case m.IsRequest():
		return 1
	case m.batch == nil:
		return 0
	}
	parts := 0
	_ = strictjson.Array(m.batch, func(part []byte) error {
		if parts++; parts > maxBatch {
			return errors.New("it is refused")
		}
		if one, f := parse(part); f == nil && one.method != "" && !one.id.IsZero() {
			n++
		}
		return nil
	})
	return n
}

// IsResponse reports whether it answers a call of ours, well or not.
func (m *Message) IsResponse() bool {
	if m.fault != nil {
		return m.fault.response
	}
	return m.batch == nil && m.method == ""
}

// Method is that of a request or a notification.
func (m *Message) Method() string { return m.method }

// Params are those of a request or a notification; nil if there are none.
func (m *Message) Params() json.RawMessage { return m.params }

// ID is that of a request, or what can be seen of it in a message with a fault.
func (m *Message) ID() ID {
	if m.fault != nil {
		return m.fault.id
	}
	return m.id
}

// AppendError appends a response that says what is wrong. A zero id is left out.
func AppendError(dst []byte, id ID, e *Error) []byte { return appendError(dst, id, e, false) }

// A Responder takes the answer to a message of [Conn.Receive], and the notifications and calls that its handler sends
// before. Several goroutines may use it at once.
type Responder interface {
	// Send takes a message that belongs to the request, and does not keep the slice. It does not wait for the peer. An
	// error means that the peer will not get the message.
	Send(msg []byte) error

	// Buffer returns an empty slice that the answer may be appended to, or nil.
	Buffer() []byte

	// Respond takes the answer. It is called once, before Receive returns, and nothing is sent afterwards. err is why the
	// request failed, or nil. msg is nil if there is no answer because the peer cancelled the request.
	Respond(msg []byte, err error)
}

// Open starts a connection whose messages come by [Conn.Receive], in place of [Conn.Run]. Its transport only sends messages
// that belong to no request. Handlers see the values of ctx.
func (c *Conn) Open(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.gone = newLiveContext(context.WithoutCancel(ctx))
	c.gone.cancel(nil)
}

// Close ends a connection that was opened. Requests in flight may finish within the grace, or until hurry is closed.
func (c *Conn) Close(hurry <-chan struct{}) {
	c.drain(hurry)
	c.Abandon()
	c.turns.stop()
	close(c.over)
}

// Receive handles a message on the goroutine of the caller and returns when that is done. Messages do not wait for one
// another, and several goroutines may call it. The answer to a request, or to a batch with requests in it, goes to the
// responder. The context of a request has the values of ctx, and ends when ctx does or when it would in any case.
func (c *Conn) Receive(ctx context.Context, m *Message, responder Responder) {
	if m.batch == nil {
		c.receive(ctx, &m.request, &m.incoming, responder)
		return
	}
	var all sync.WaitGroup
	for _, in := range c.unpack(slices.Clip(m.batch)) {
		if in.method != "" && !in.id.IsZero() {
			all.Go(func() { c.receive(ctx, new(Request), &in, responder) })
		} else {
			c.receive(ctx, new(Request), &in, responder)
		}
	}
	all.Wait()
}

// Deliver completes a pending call of [Outgoing].Via without cancelling the context of its sender.
func (c *Conn) Deliver(m *Message) {
	answer := m.message
	if m.fault != nil {
		answer = message{id: m.fault.id, broken: m.fault.err}
	}
	c.deliver(answer, false)
}

// receive handles one message as r.
func (c *Conn) receive(ctx context.Context, r *Request, in *incoming, responder Responder) {
	r.ID, r.Method, r.Params, r.conn = in.id, in.method, in.params, c
	r.batch, r.slot, r.parent, r.responder = in.batch, in.slot, ctx, responder
	r.turn.Store(passedTurn)
	r.declared.Store(true)
	switch {
	case in.fault != nil:
		c.refuse(r, in.fault)
	case in.method == "":
		c.deliver(in.message, true)
	default:
		if id, err := c.register(r); err != nil {
			c.refuse(r, &fault{id: id, err: err})
			return
		}
		var buf []byte
		if r.batch == nil && !r.IsNotification() {
			buf = responder.Buffer()
		}
		c.finish(r, c.invoke(r, buf))
	}
}
