package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/petrock/petrock/core/strictjson"
)

// A Message is one that came in another way than over a transport, such as in a request of
// HTTP, and has been taken apart. [Conn.Receive] serves it, once.
type Message struct {
	incoming
	batch   []byte // the whole array, if it is one
	request Request
}

// Parse takes a message apart. It keeps raw, which is not to be changed any more.
func (m *Message) Parse(raw []byte) {
	*m = Message{}
	if raw = trim(raw); strictjson.First(raw) == '[' {
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
		if parts++; parts > mostInBatch {
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

// An Responder is where the answer to one message goes that came by [Conn.Receive], and what its handler
// has to say before: its notifications, and its calls. Several goroutines may use it at once.
type Responder interface {
	// Send takes a message that belongs to the request, and is done with the slice when it returns. It does not wait for the
	// peer. An error means that nobody will ever see it.
	Send(msg []byte) error

	// Room is where the answer may be written, if it fits: an empty slice with some capacity, or nil.
	Buffer() []byte

	// Answer takes the answer. It is called once, before Take returns, and nothing is sent afterwards. err is why the request was not
	// fulfilled, and nil if it was. msg is nil if no answer is wanted, because the peer cancelled the request.
	Respond(msg []byte, err error)
}

// Open sets a connection going whose messages come by [Conn.Receive] alone, in place of [Conn.Run]. Its transport is only
// ever sent to: what belongs to no request. The values of ctx are there for all handlers.
func (c *Conn) Open(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.gone = newLiveContext(context.WithoutCancel(ctx))
	c.gone.cancel(nil)
}

// Close ends a connection that was opened. Requests in flight may finish within the grace, or until
// hurry is closed.
func (c *Conn) Close(hurry <-chan struct{}) {
	c.drain(hurry)
	c.Abandon()
	c.watch.stop()
	close(c.over)
}

// Take serves a message on the goroutine of the caller and returns when that is done. Messages do not wait for one another,
// and may be taken by several goroutines. Requests are answered through out, as are batches with a
// request in them. The context of a request has the values of ctx, and ends when ctx does or when it would
// in any case.
func (c *Conn) Receive(ctx context.Context, m *Message, out Responder) {
	if m.batch == nil {
		c.take(ctx, &m.request, &m.incoming, out)
	} else {
		c.takeBatch(ctx, m, out)
	}
}

// Deliver is [Conn.Receive] for the answer to a call, by what has sent that ([Outgoing].Via), whose context goes on.
func (c *Conn) Deliver(m *Message) {
	answer := m.message
	if m.fault != nil {
		answer = message{id: m.fault.id, broken: m.fault.err}
	}
	c.hand(answer, false)
}

func (c *Conn) takeBatch(ctx context.Context, m *Message, out Responder) {
	var all sync.WaitGroup
	for _, in := range c.unpack(slices.Clip(m.batch)) {
		if in.method != "" && !in.id.IsZero() {
			all.Go(func() { c.take(ctx, new(Request), &in, out) })
		} else {
			c.take(ctx, new(Request), &in, out)
		}
	}
	all.Wait()
}

// take serves one message as r. It and what it calls are part of every stack of a server over HTTP, and small for that: a stack that is
// a little too small is made anew again and again.
func (c *Conn) take(ctx context.Context, r *Request, in *incoming, out Responder) {
	r.ID, r.Method, r.Params, r.conn = in.id, in.method, in.params, c
	r.batch, r.slot, r.parent, r.out = in.batch, in.slot, ctx, out
	r.turn.Store(passedTurn)
	r.declared.Store(true)
	if in.fault == nil && in.method != "" {
		c.serveTaken(r)
	} else {
		c.takeOther(r, in)
	}
}

// takeOther takes what no handler sees: a response, or what is wrong.
func (c *Conn) takeOther(r *Request, in *incoming) {
	switch {
	case in.fault == nil:
		c.deliver(in.message)
	case in.fault.response || in.fault.notification:
		c.refuse(*in)
	default:
		r.failure = in.fault.err
		c.answer(r, appendError(nil, in.fault.id, in.fault.err, c.dialect.Load().NullID))
	}
}

// serveTaken is run for a request that holds up no other.
func (c *Conn) serveTaken(r *Request) {
	if id, err := c.begin(r); err != nil {
		r.failure = err
		c.answer(r, appendError(nil, id, err, c.dialect.Load().NullID))
		return
	}
	var room []byte
	if r.batch == nil && !r.IsNotification() {
		room = r.out.Buffer()
	}
	c.finish(r, c.invoke(r, room))
}

// Responder is where the answer goes, if the request came by [Conn.Receive], and nil otherwise.
func (r *Request) Responder() Responder { return r.out }

// Notify sends a notification that belongs to the request. It returns when it has been taken, but not for a request that
// has been answered: that is up to the caller.
func (r *Request) Notify(method string, params any) error {
	send := r.conn.send
	if r.out != nil {
		send = r.out.Send
	}
	return notify(send, method, params)
}
