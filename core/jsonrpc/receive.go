package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/petrock/petrock/core/strictjson"
)

// incoming is a received message, with its place in a batch, if any.
type incoming struct {
	message
	fault *fault
	batch *batch
	slot  int
}

// read serves messages until the transport ends. If a request has passed the turn to another goroutine,
// read waits for its next turn.
func (c *Conn) read() {
	var buf []byte // of the last answer, reused for the next one
	for {
		in, err := c.next()
		if err != nil {
			c.Abandon()
			c.ended <- err
			return
		}
		if in.fault == nil && in.method == "" {
			c.deliver(in.message, true)
			continue
		}
		r := &Request{ID: in.id, Method: in.method, Params: in.params, conn: c, batch: in.batch, slot: in.slot}
		if buf = c.serve(r, in.fault, buf[:0]); cap(buf) > maxKept {
			buf = nil
		}
		// From here on the request cannot be released, even if a goroutine of the handler tries to.
		if !r.turn.CompareAndSwap(keepsTurn, servedTurn) && !c.awaitTurn() {
			return
		}
	}
}

// next returns the next message: from the queue of a batch, or from the transport.
func (c *Conn) next() (incoming, error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		if err != nil {
			lost, ok := errors.AsType[*MessageError](err)
			if !ok {
				return incoming{}, err
			}
			if c.o.OnInvalid != nil && !lost.Response {
				c.o.OnInvalid(nil, lost.Err)
				continue
			}
			return incoming{fault: &fault{lost.ID, lost.Response, false, lost.Err}}, nil
		}
		if strictjson.First(raw) == '[' {
			c.queue = c.unpack(raw)
			continue
		}
		m, f := parse(raw)
		if f != nil && c.o.OnInvalid != nil && !f.response {
			c.o.OnInvalid(raw, f.err)
			continue
		}
		return incoming{message: m, fault: f}, nil
	}
	in := c.queue[0]
	c.queue = c.queue[1:]
	return in, nil
}

// refuse answers an invalid message as r, unless it is a response or a notification.
func (c *Conn) refuse(r *Request, f *fault) {
	switch {
	case f.response:
		c.o.Logger.Warn("received an invalid response", "id", f.id.String(), "error", f.err)
		if !f.id.IsZero() {
			c.deliver(message{id: f.id, broken: f.err}, true)
		}
	case f.notification:
		c.o.Logger.Warn("received an invalid notification", "error", f.err)
	default:
		r.failure = f.err
		c.answer(r, appendError(nil, f.id, f.err, c.dialect.Load().NullID))
	}
}

// A Message is a message that did not arrive over a transport but, for example, in an HTTP request.
// Call [Conn.Receive] at most once for each.
type Message struct {
	incoming
	batch   []byte // the whole array, if it is one
	request Request
}

// Parse parses a message. It keeps raw, which must not be changed afterwards.
func (m *Message) Parse(raw []byte) {
	*m = Message{}
	if raw = bytes.Trim(raw, whiteSpace); strictjson.First(raw) == '[' {
		m.batch = raw
	} else {
		m.message, m.fault = parse(raw)
	}
}

// Fault returns why the message is invalid, or nil. It does not check batches.
func (m *Message) Fault() *Error {
	if m.fault == nil {
		return nil
	}
	return m.fault.err
}

// IsBatch reports whether the message is an array of messages.
func (m *Message) IsBatch() bool { return m.batch != nil }

// IsRequest reports whether the message is a request, not a notification.
func (m *Message) IsRequest() bool { return m.method != "" && !m.id.IsZero() }

// Requests returns the number of requests: a batch may have several.
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
			return errors.New("too many messages")
		}
		if one, f := parse(part); f == nil && one.method != "" && !one.id.IsZero() {
			n++
		}
		return nil
	})
	return n
}

// IsResponse reports whether the message is a response, valid or not.
func (m *Message) IsResponse() bool {
	if m.fault != nil {
		return m.fault.response
	}
	return m.batch == nil && m.method == ""
}

// Method returns the method of a request or a notification.
func (m *Message) Method() string { return m.method }

// Params returns the params of a request or a notification, or nil if there are none.
func (m *Message) Params() json.RawMessage { return m.params }

// ID returns the id, or the zero ID if it is missing or could not be read.
func (m *Message) ID() ID {
	if m.fault != nil {
		return m.fault.id
	}
	return m.id
}

// AppendError appends an error response. A zero id is left out.
func AppendError(dst []byte, id ID, e *Error) []byte { return appendError(dst, id, e, false) }

// A Responder takes the answer to a message of [Conn.Receive], and the notifications and calls that
// its handler sends before. Several goroutines may use it at once.
type Responder interface {
	// Send takes a message that belongs to the request, and does not keep the slice. It does not
	// wait for the peer. An error means that the peer will not get the message.
	Send(msg []byte) error

	// Buffer returns an empty slice that the answer may be appended to, or nil.
	Buffer() []byte

	// Respond takes the answer. It is called once, before Receive returns, and nothing is sent
	// afterwards. err is why the request failed, or nil. msg is nil if there is no answer because
	// the peer cancelled the request.
	Respond(msg []byte, err error)
}

// Open starts a connection whose messages come by [Conn.Receive], in place of [Conn.Run]. Its
// transport only sends messages that belong to no request. Handlers see the values of ctx.
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
	c.turns.stop()
	close(c.over)
}

// Receive handles a message on the goroutine of the caller and returns when that is done. Messages
// do not wait for one another, and several goroutines may call it. The answer to a request, or to a
// batch with requests in it, goes to the responder. The context of a request has the values of ctx,
// and ends when ctx does or when it would in any case.
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

// A Request is an incoming request or notification.
//
// Handlers are called on the goroutine that reads, in the order in which messages arrive: until the
// handler returns or releases the request, no further message is read. See [Request.Release],
// [Request.MayTakeLong] and [Options].Ordered for handlers that take long.
//
// The context of a request ends when the peer cancels it, when the connection has run out of grace,
// or when the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // an object or an array that strictjson has checked; nil if there are none

	conn      *Conn
	batch     *batch // collects the answer, if the request is part of a batch
	slot      int    // of the answer in the batch
	after     []func()
	cancelled bool // guarded by conn.mu

	parent    context.Context // of the context, if the request came by Conn.Receive
	responder Responder       // takes the answer, if the request came by Conn.Receive
	failure   error           // why the request failed

	turn     atomic.Int32 // keepsTurn, passedTurn or servedTurn
	declared atomic.Bool  // the request may run concurrently with later ones
	live     atomic.Pointer[liveContext]
}

// IsNotification reports whether the request gets no answer.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// InBatch reports whether the request is part of a batch.
func (r *Request) InBatch() bool { return r.batch != nil }

// Responder returns what was given to [Conn.Receive], or nil if the request came over the transport.
func (r *Request) Responder() Responder { return r.responder }

// Notify sends a notification that belongs to the request. It returns when the transport or the
// [Responder] has taken it. The caller must not call it for a request that has been answered.
func (r *Request) Notify(method string, params any) error {
	send := r.conn.send
	if r.responder != nil {
		send = r.responder.Send
	}
	return notify(send, method, params)
}

// AfterAnswer has f called once the transport has taken the answer to the request, or to its batch.
// Several functions are called in order. None is called for a notification, nor if no answer is
// sent because the peer cancelled the request or is gone. By then the context of the request has
// ended, and the next message may be read if f takes long. The handler calls AfterAnswer before it
// returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// Cancel ends the context of the request with that id and suppresses its answer. It reports whether
// there was such a request in flight.
func (c *Conn) Cancel(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.lookup(id)
	if r == nil {
		return false
	}
	r.cancelled = true
	r.alive().cancel(ErrCancelled)
	return true
}

// maxBatch is the largest number of messages in a batch. A message takes far more memory than its
// bytes, and the response to an invalid one may be longer than the message.
const maxBatch = 1000

// A batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	after   []func() // called after the answers have been sent
	missing int
}

// unpack returns the messages of an array, or one fault if the array is refused as a whole.
func (c *Conn) unpack(raw []byte) []incoming {
	refuse := func(e *Error) []incoming { return []incoming{{fault: &fault{err: e}}} }
	var parts [][]byte
	n := 0
	err := strictjson.Array(raw, func(part []byte) error {
		if n++; n <= maxBatch {
			parts = append(parts, part)
		}
		return nil
	})
	switch {
	case err != nil && !isDuplicate(err):
		return refuse(broken(err))
	case !c.dialect.Load().Batches:
		return refuse(Errorf(InvalidRequest, "batches are not part of this protocol revision: send one message at a time"))
	case n > maxBatch:
		return refuse(Errorf(InvalidRequest, "a batch may hold at most %d messages, got %d", maxBatch, n))
	case n == 0:
		return refuse(Errorf(InvalidRequest, "a batch must hold at least one message"))
	}
	b := &batch{}
	list := make([]incoming, len(parts))
	for i, part := range parts {
		m, f := parse(part)
		list[i] = incoming{message: m, fault: f, batch: b, slot: b.missing}
		if f != nil && !f.response && !f.notification || f == nil && m.method != "" && !m.id.IsZero() {
			b.missing++
		}
	}
	b.answers = make([][]byte, b.missing)
	if b.missing > 0 {
		c.running.Add(1) // until it is answered
	}
	return list
}

// isDuplicate reports whether err is a duplicate key, which makes one message of a batch invalid
// but not the others.
func isDuplicate(err error) bool {
	var e *strictjson.Error
	return errors.As(err, &e) && e.Kind == strictjson.Duplicate
}

// add stores an answer; nil means that none is sent. When it has all answers, it returns complete
// as true, the array of answers, or nil if that would be empty, and the functions to call after
// sending it.
func (b *batch) add(slot int, answer []byte, after []func()) (all []byte, follow []func(), complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[slot] = bytes.Clone(answer)
	b.after = append(b.after, after...)
	if b.missing--; b.missing > 0 {
		return nil, nil, false
	}
	for _, a := range b.answers {
		if a == nil {
			continue
		}
		if all == nil {
			all = []byte{'['}
		} else {
			all = append(all, ',')
		}
		all = append(all, a...)
	}
	if all == nil {
		return nil, nil, true
	}
	return append(all, ']'), b.after, true
}
