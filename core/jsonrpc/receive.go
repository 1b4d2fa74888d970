package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/petrock/petrock/core/internal/jsonscan"
	"github.com/petrock/petrock/core/strictjson"
)

// incoming is a received message and its slot in a batch, if any.
type incoming struct {
	message
	fault *MessageError // of an invalid message, else nil
	batch *batch
	slot  int
}

// read reads and serves messages until the transport ends. After a request that passed the turn to
// another goroutine, read waits for its next turn.
func (c *Conn) read() {
	var buf []byte // of the last answer, reused for the next one
	for {
		in, err := c.next()
		if err != nil {
			c.FailCalls()
			c.readErr <- err
			return
		}
		if in.fault == nil && in.method == "" {
			c.deliver(in.message, true)
			continue
		}
		r := &Request{ID: in.id, Method: in.method, Params: in.params, paramEnds: in.paramEnds, conn: c, batch: in.batch, slot: in.slot}
		if buf = c.serve(r, in.fault, buf[:0]); cap(buf) > maxKept {
			buf = nil
		}
		// After this, a goroutine of the handler can no longer release the request.
		if !r.turn.CompareAndSwap(keepsTurn, servedTurn) && !c.awaitTurn() {
			return
		}
	}
}

// next returns the next message of the current batch, or else of the transport.
func (c *Conn) next() (in incoming, err error) {
	for len(c.queue) == 0 {
		raw, err := c.transport.Receive()
		if err != nil {
			lost, ok := errors.AsType[*MessageError](err)
			if !ok {
				return incoming{}, err
			}
			in.fault = lost
		} else if strictjson.First(raw) == '[' {
			if c.queue = c.parseBatch(raw); c.queue[0].batch != nil {
				continue
			}
			in, c.queue = c.queue[0], nil // refused as a whole
		} else {
			in.message, in.fault = parse(raw)
		}
		if f := in.fault; f == nil || f.Response || c.o.OnInvalid == nil {
			return in, nil
		}
		c.o.OnInvalid(raw, in.fault.Err)
	}
	in, c.queue = c.queue[0], c.queue[1:]
	return in, nil
}

// refuse answers an invalid message as r, unless it is a response or a notification.
func (c *Conn) refuse(r *Request, f *MessageError) {
	switch {
	case f.Response:
		c.o.Logger.Warn("received an invalid response", "id", f.ID.String(), "error", f.Err)
		if !f.ID.IsZero() {
			c.deliver(message{id: f.ID, invalid: f.Err}, true)
		}
	case f.Notification:
		c.o.Logger.Warn("received an invalid notification", "error", f.Err)
	default:
		r.failure = f.Err
		c.answer(r, appendError(nil, f.ID, f.Err, c.dialect.Load().NullID))
	}
}

// A Message is a message that a [Conn] has not read itself, such as the body of an HTTP request or
// a message that a proxy forwards. Receive it at most once.
type Message struct {
	incoming
	raw     []byte
	isBatch bool
	request Request
}

// Parse parses a message. It keeps raw, which must not be changed afterwards.
func (m *Message) Parse(raw []byte) {
	*m = Message{raw: bytes.Trim(raw, whiteSpace)}
	if m.isBatch = strictjson.First(m.raw) == '[' && !hasKind(strictjson.Check(m.raw), strictjson.Syntax); !m.isBatch {
		m.message, m.fault = parse(m.raw)
	}
}

// Raw returns the JSON of the message or batch.
func (m *Message) Raw() []byte { return m.raw }

// Fault returns the error of an invalid message, or nil. It does not check the messages of a batch.
func (m *Message) Fault() *Error {
	if m.fault == nil {
		return nil
	}
	return m.fault.Err
}

// IsBatch reports whether the message is an array of messages.
func (m *Message) IsBatch() bool { return m.isBatch }

// Requests returns the number of requests in the message or batch.
func (m *Message) Requests() (n int) {
	switch {
	case m.IsRequest():
		return 1
	case !m.isBatch:
		return 0
	}
	parts, _ := splitBatch(m.raw)
	for _, part := range parts {
		if one, _ := parse(part); one.IsRequest() {
			n++
		}
	}
	return n
}

// IsRequest reports whether the message is a single request.
func (m *Message) IsRequest() bool { return m.message.IsRequest() }

// IsResponse reports whether the message is a response, valid or not.
func (m *Message) IsResponse() bool {
	if m.fault != nil {
		return m.fault.Response
	}
	return !m.isBatch && m.method == ""
}

// Method returns the method of a request or a notification.
func (m *Message) Method() string { return m.method }

// Params returns the params of a request or a notification, or nil.
func (m *Message) Params() json.RawMessage { return m.params }

// Result returns the result of a successful response, or nil.
func (m *Message) Result() json.RawMessage { return m.result }

// Err returns the error of a failed response, or nil.
func (m *Message) Err() *Error { return m.err }

// ID returns the id, or the zero ID if it is missing or invalid.
func (m *Message) ID() ID {
	if m.fault != nil {
		return m.fault.ID
	}
	return m.id
}

// WithID returns the JSON of a valid request or response with another id.
func (m *Message) WithID(id ID) []byte {
	start, end := jsonscan.Member(m.raw, "id")
	return slices.Concat(m.raw[:start], []byte(id.raw), m.raw[end:])
}

// AppendResult appends a successful response. result must be valid JSON.
func AppendResult(dst []byte, id ID, result json.RawMessage) []byte {
	return append(append(appendResultStart(dst, id), result...), '}')
}

func appendResultStart(dst []byte, id ID) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id.raw...)
	return append(dst, `,"result":`...)
}

// AppendError appends an error response. A zero id is omitted.
func AppendError(dst []byte, id ID, e *Error) []byte { return appendError(dst, id, e, false) }

// A Responder sends the answer to a message of [Conn.Receive], after the notifications and calls of
// its handler. Several goroutines may use it.
type Responder interface {
	// Send sends a message that belongs to the request, and does not keep the slice. It does not
	// wait for the peer. An error means that the peer will not get the message.
	Send(msg []byte) error

	// Buffer returns an empty slice that the answer may be appended to, or nil.
	Buffer() []byte

	// Respond sends the answer. It is called once, before Receive returns, and Send is not called
	// afterwards. err is the error of a failed request, or nil. msg is nil if the peer cancelled
	// the request.
	Respond(msg []byte, err error)
}

// Open starts a connection that is used with [Conn.Receive] instead of [Conn.Run]. Its transport
// only sends messages that belong to no request. Handlers see the values of ctx.
func (c *Conn) Open(ctx context.Context) {
	c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	c.finished = newLiveContext(context.WithoutCancel(ctx))
	c.finished.cancel(nil)
}

// Close ends a connection that was started with [Conn.Open]. Requests in flight may finish within
// the grace period, or until skipGrace is closed.
func (c *Conn) Close(skipGrace <-chan struct{}) {
	c.drain(skipGrace)
	c.FailCalls()
	c.turns.stop()
	close(c.done)
}

// Receive handles a message on the goroutine of the caller. Several goroutines may call it, and
// messages do not wait for one another. The answer to a request, or to a batch that has requests,
// goes to the responder. The context of a request has the values of ctx, and also ends when ctx
// does.
func (c *Conn) Receive(ctx context.Context, m *Message, responder Responder) {
	if !m.isBatch {
		c.receive(ctx, &m.request, &m.incoming, responder)
		return
	}
	var all sync.WaitGroup
	for _, in := range c.parseBatch(slices.Clip(m.raw)) {
		if in.IsRequest() {
			all.Go(func() { c.receive(ctx, new(Request), &in, responder) })
		} else {
			c.receive(ctx, new(Request), &in, responder)
		}
	}
	all.Wait()
}

// Deliver completes a pending call without cancelling the context of its [Outgoing].Via.
func (c *Conn) Deliver(m *Message) {
	answer := m.message
	if m.fault != nil {
		answer = message{id: m.fault.ID, invalid: m.fault.Err}
	}
	c.deliver(answer, false)
}

// receive handles one message of [Conn.Receive]. r is the request to fill in, so that a single
// message needs no allocation for it. The request never has the turn.
func (c *Conn) receive(ctx context.Context, r *Request, in *incoming, responder Responder) {
	r.ID, r.Method, r.Params, r.paramEnds, r.conn = in.id, in.method, in.params, in.paramEnds, c
	r.batch, r.slot, r.parent, r.responder = in.batch, in.slot, ctx, responder
	r.turn.Store(passedTurn)
	r.concurrent.Store(true)
	switch {
	case in.fault != nil:
		c.refuse(r, in.fault)
	case in.method == "":
		c.deliver(in.message, true)
	default:
		if f := c.register(r); f != nil {
			c.refuse(r, f)
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
// Handlers are called on the goroutine that reads, in the order in which messages arrive. The next
// message is read when the handler returns or releases the request. See [Request.Release] and
// [Options].Ordered for handlers that take long.
//
// The context of a request ends when the peer cancels it, at the end of the grace period of the
// connection, or when the handler has returned.
type Request struct {
	ID     ID // zero for a notification
	Method string
	Params json.RawMessage // a valid object or array; nil if the request has no params

	paramEnds jsonscan.Ends
	conn      *Conn
	batch     *batch // nil if the request is not part of a batch
	slot      int    // of the answer in the batch
	after     []func()
	cancelled bool // guarded by conn.mu

	parent    context.Context // the context given to Conn.Receive, else nil
	responder Responder       // the one given to Conn.Receive, else nil
	failure   error           // why the request failed

	turn       atomic.Int32 // keepsTurn, passedTurn or servedTurn
	concurrent atomic.Bool  // the request may run concurrently with later ones
	live       atomic.Pointer[liveContext]
}

// IsNotification reports whether the request is a notification, which has no answer.
func (r *Request) IsNotification() bool { return r.ID.IsZero() }

// InBatch reports whether the request is part of a batch.
func (r *Request) InBatch() bool { return r.batch != nil }

// Members calls member for each member of Params, which must be an object, with the unescaped key
// and the raw value. member must not modify them. If member returns an error, Members stops and
// returns it. Members does not look into the values, because reading the request has found them.
func (r *Request) Members(member func(key, value []byte) error) error {
	return jsonscan.Members(r.Params, &r.paramEnds, member)
}

// Responder returns the responder given to [Conn.Receive], or nil if the request came over the
// transport.
func (r *Request) Responder() Responder { return r.responder }

// Notify sends a notification that belongs to the request. It returns when the transport or the
// [Responder] has queued it. Do not call it after the request has been answered.
func (r *Request) Notify(method string, params any) error {
	send := r.conn.send
	if r.responder != nil {
		send = r.responder.Send
	}
	return notify(send, method, params)
}

// AfterAnswer registers f to be called after the transport has queued the answer to the request.
// Functions are called in order. They are not called for a notification, in a batch, nor if the
// peer has cancelled the request or disconnected. When f is called, the context of the request has
// ended, and if f takes long, the next message is read. The handler must call AfterAnswer before it
// returns.
func (r *Request) AfterAnswer(f func()) { r.after = append(r.after, f) }

// Cancel ends the context of the request with that id and suppresses its answer. It reports whether
// the request was in flight.
func (c *Conn) Cancel(id ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.lookup(id)
	if r == nil {
		return false
	}
	r.cancelled = true
	r.ensureLive().cancel(ErrCancelled)
	return true
}

// maxBatch limits the messages in a batch. A parsed message takes far more memory than its bytes,
// and the response to an invalid one may be longer than the message.
const maxBatch = 1000

// A batch collects the answers to the messages of one array.
type batch struct {
	mu      sync.Mutex
	answers [][]byte // in the order of the messages
	missing int      // answers not yet added
}

// splitBatch returns the messages of a batch, or an error if the batch is refused as a whole.
func splitBatch(raw []byte) ([][]byte, *Error) {
	var parts [][]byte
	n := 0
	err := strictjson.Array(raw, func(part []byte) error {
		if n++; n <= maxBatch {
			parts = append(parts, slices.Clip(part))
		}
		return nil
	})
	switch {
	case err != nil && !hasKind(err, strictjson.Duplicate): // that invalidates one message only
		return nil, jsonError(err)
	case n > maxBatch:
		return nil, Errorf(InvalidRequest, "a batch may hold at most %d messages, got %d", maxBatch, n)
	case n == 0:
		return nil, Errorf(InvalidRequest, "a batch must hold at least one message")
	}
	return parts, nil
}

// parseBatch returns the messages of a batch, or one fault if the batch is refused as a whole.
func (c *Conn) parseBatch(raw []byte) []incoming {
	parts, err := splitBatch(raw)
	if !c.dialect.Load().Batches && (err == nil || err.Code != ParseError) {
		err = Errorf(InvalidRequest, "batches are not part of this protocol revision; send one message at a time")
	}
	if err != nil {
		return []incoming{{fault: &MessageError{Err: err}}}
	}
	b := &batch{}
	list := make([]incoming, len(parts))
	for i, part := range parts {
		m, f := parse(part)
		list[i] = incoming{message: m, fault: f, batch: b, slot: b.missing}
		if f != nil && !f.Response && !f.Notification || m.IsRequest() {
			b.missing++
		}
	}
	b.answers = make([][]byte, b.missing)
	if b.missing > 0 {
		c.running.Add(1) // until the batch is answered
	}
	return list
}

// hasKind reports whether err is a [*strictjson.Error] of a kind.
func hasKind(err error, kind strictjson.Kind) bool {
	e, ok := errors.AsType[*strictjson.Error](err)
	return ok && e.Kind == kind
}

// add stores an answer; nil means that none is sent. With the last answer, it returns complete as
// true, and the array of answers, or nil if it is empty.
func (b *batch) add(slot int, answer []byte) (all []byte, complete bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answers[slot] = bytes.Clone(answer)
	if b.missing--; b.missing > 0 {
		return nil, false
	}
	answers := slices.DeleteFunc(b.answers, func(a []byte) bool { return a == nil })
	if len(answers) == 0 {
		return nil, true
	}
	return slices.Concat([]byte{'['}, bytes.Join(answers, []byte{','}), []byte{']'}), true
}
