package mcp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// An exchange is one POST and its answer. It is where what belongs to a request goes: the answer alone as JSON, or, as soon as
// there is more or it takes long, all of it as a stream.
type exchange struct {
	h       *HTTPHandler
	w       http.ResponseWriter // nobody's but the stream's once there is one
	r       *http.Request
	msg     jsonrpc.Message
	call    Call        // of msg, unless that is a batch
	version string      // the header MCP-Protocol-Version
	session *webSession // nil for a request that stands for itself
	fresh   bool        // the session begins with this
	batch   bool        // there may be several requests in it
	listens bool        // it is a subscription
	modern  bool        // errors have the status that they have in revision 2026-07-28
	unknown bool        // the request does not say well enough what it is
	room    *[]byte

	returned bool // from serving it

	mu       sync.Mutex
	answered bool
	complete bool // the answer has been written
	left     bool // the client does not use the session any more with this
	stream   *stream
	reader   *reader       // of the stream
	written  chan struct{} // closed when the client has been sent all of the stream that it will be over this connection

	looked       bool // by the lookout, whose lock guards these
	looks        int  // when that began
	next, before *exchange
}

// Room implements [jsonrpc.Outlet].
func (e *exchange) Room() []byte {
	e.h.lookout.enter(e)
	e.room = e.h.rooms.Get().(*[]byte)
	return (*e.room)[:0]
}

// takesLong begins the stream of a call that is not answered soon.
func (e *exchange) takesLong() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.answered && e.stream == nil {
		e.begin()
		e.prime()
	}
}

// Send implements [jsonrpc.Outlet].
func (e *exchange) Send(msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return errAnswered
	}
	if e.stream == nil {
		e.begin()
		e.prime()
	}
	return e.stream.add(msg)
}

// begin makes it a stream. mu is held.
func (e *exchange) begin() {
	e.introduce()
	if e.session != nil {
		e.stream = e.session.streams.open()
	} else {
		e.stream = newStreams(e.h.o.ReplayBuffer).openOnce(e.listens)
	}
	e.reader = e.stream.read(0)
	e.written = make(chan struct{})
	go e.pump()
}

// prime gives the client a place in the stream to come back to, if it knows of such a thing. mu is held.
func (e *exchange) prime() {
	if e.session != nil && e.session.Revision() >= Revision20251125 {
		e.stream.mark(0)
	}
}

// pump writes the stream to the client for as long as there is one. If it leaves before the call is answered, the connection is
// taken from the call, which may go on.
func (e *exchange) pump() {
	defer close(e.written)
	defer e.leave()
	e.h.startStream(e.w)
	if e.h.pump(e.w, e.r, e.reader) == readerLeft {
		hangUp(e.w, e.r)
	}
}

// leave notes that the client has its answer, or waits for it no more. A session that its client has left may end while a call goes on, which
// may wait for that client.
func (e *exchange) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.session != nil && !e.left {
		e.left = true
		e.session.letGo()
	}
}

// hangUp ends the answer to a request whose handler has not returned.
func hangUp(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client waits until the handler has
	}
	if r.ProtoAtLeast(1, 1) {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("0\r\n\r\n")) // the last chunk
	}
	_ = conn.Close()
}

// suspend has the client leave, and come back after retry.
func (e *exchange) suspend(retry time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return
	}
	if e.stream == nil {
		e.w.Header().Set("Connection", "close") // see hangUp: who used it again would find it closed
		e.begin()
	}
	e.stream.mark(max(retry, time.Millisecond))
	e.stream.dismiss()
}

// Answer implements [jsonrpc.Outlet].
func (e *exchange) Answer(msg []byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer()
	if e.room != nil && cap(msg) <= mostRoom {
		*e.room = msg
	}
	switch {
	case e.stream != nil:
		e.stream.finish(msg)
	case msg == nil:
		e.w.WriteHeader(http.StatusAccepted) // the client gave the request up
	default:
		e.h.write(e.w, e.status(err), msg)
	}
	e.complete = true
}

// mostRoom is how large a room is kept for others.
const mostRoom = 64 << 10

// accept answers what wants no answer.
func (e *exchange) accept() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.answered {
		e.answer()
		if e.stream != nil {
			e.stream.end()
			return
		}
		e.w.WriteHeader(http.StatusAccepted)
	}
}

// answer ends what may come before the answer. mu is held.
func (e *exchange) answer() {
	e.answered = true
	e.h.lookout.leave(e)
}

// end waits until the client has been sent everything, and gives back what was borrowed.
func (e *exchange) end() {
	e.mu.Lock()
	written := e.written
	e.mu.Unlock()
	if written != nil {
		<-written
	}
	if e.room != nil {
		e.h.rooms.Put(e.room)
		e.room = nil // given back twice, it would be lent to two at once
	}
}

// finish is the end, also where there is nothing after it: a handler may have ended its goroutine, which is that of the connection.
func (e *exchange) finish() {
	e.end()
	switch {
	case e.returned || !e.complete:
	case e.stream != nil:
		hangUp(e.w, e.r)
	default:
		_ = http.NewResponseController(e.w).Flush()
		if e.w.Header()["Content-Length"] == nil { // see neverWaits
			hangUp(e.w, e.r)
		}
	}
}

// introduce tells the client the name of the session that begins with this, if one does.
func (e *exchange) introduce() {
	if e.fresh {
		e.w.Header()["Mcp-Session-Id"] = []string{e.session.id}
	}
}

// status is that of an answer, with the headers that go with it.
func (e *exchange) status(err error) int {
	if err == nil {
		e.introduce()
		return http.StatusOK
	}
	var scope *ScopeError
	switch {
	case errors.As(err, &scope):
		if e.h.o.Challenge != nil {
			e.w.Header().Set("WWW-Authenticate", e.h.o.Challenge(scope.Needed))
		}
		return http.StatusForbidden
	case e.batch: // it is none
		return http.StatusBadRequest
	case !e.modern:
		return http.StatusOK
	case errors.Is(err, jsonrpc.MethodNotFound):
		return http.StatusNotFound
	case e.unknown, errors.Is(err, HeaderMismatch), errors.Is(err, MissingCapability), errors.Is(err, UnsupportedVersion), errors.Is(err, jsonrpc.InvalidRequest):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// write answers with one message.
func (h *HTTPHandler) write(w http.ResponseWriter, status int, msg []byte) {
	header := w.Header()
	header["Content-Type"] = h.headers.json
	if len(msg) <= neverWaits {
		w.WriteHeader(status)
		_, _ = w.Write(msg) // who is gone is told nothing
		return
	}
	header["Content-Length"] = []string{strconv.Itoa(len(msg))}
	w.WriteHeader(status)
	control := http.NewResponseController(w)
	_ = h.send(w, control, msg)
	_ = control.SetWriteDeadline(time.Time{})
}

// neverWaits is how long an answer may be that package net/http keeps until the handler has returned, so that who writes it does not wait
// for the client. Then it knows the length, and says it.
const neverWaits = 2 << 10

// begin serves initialize, and with it a new session.
func (h *HTTPHandler) begin(e *exchange, m *jsonrpc.Message) {
	client, ok := h.takePlace(e, m)
	if !ok {
		return
	}
	s := h.newSession(e.r, client)
	if !h.enter(s) { // before the client knows of it
		h.givePlace(client)
		h.refuse(e.w, http.StatusServiceUnavailable, m.ID(), jsonrpc.Errorf(jsonrpc.InternalError, "%v", errClosing))
		return
	}
	e.session, e.fresh = s, true
	defer e.leave()
	s.conn.Take(context.WithoutCancel(e.r.Context()), m, e)
	if s.State() == Created {
		h.dismiss(s) // they have not agreed
	}
}
