package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// An exchange is one POST and its response. It implements [mcp.Responder]. The response is plain
// JSON if the answer to the call is all there is. It is a stream as soon as the call sends
// something else first or takes long.
type exchange struct {
	h        *Handler
	w        http.ResponseWriter // used by the stream alone once there is one
	r        *http.Request
	client   string // whose share it uses
	held     int64  // of the handler's memory, until the end
	msg      jsonrpc.Message
	version  string   // the header MCP-Protocol-Version
	session  *session // nil for a stateless request
	fresh    bool     // the request begins the session
	batch    bool     // msg may hold several requests
	listens  bool     // the request is a subscription
	buffer   *[]byte  // lent by the handler, for the answer
	returned bool     // from serving msg

	mu       sync.Mutex
	timer    *time.Timer // starts the stream of a call that takes long; nil before the call begins
	answered bool
	complete bool // the answer has been written
	left     bool // the client no longer uses the session by this exchange
	stream   *stream
	reader   *reader       // of the stream
	written  chan struct{} // closed when the stream has been written to this connection, as far as it will be
}

// Buffer implements [jsonrpc.Responder]. A call begins with it.
func (e *exchange) Buffer() []byte {
	e.startTimer()
	e.buffer = e.h.buffers.Get().(*[]byte)
	return (*e.buffer)[:0]
}

// startTimer makes the response a stream unless it is complete within the keep-alive interval.
func (e *exchange) startTimer() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timer = time.AfterFunc(e.h.o.KeepAlive, e.startStream)
}

// startStream makes the response a stream, unless it is one or complete.
func (e *exchange) startStream() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.answered && e.stream == nil {
		e.begin()
		e.prime()
	}
}

// Send implements [jsonrpc.Responder].
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

func (e *exchange) begin() {
	e.setSessionID()
	if e.session != nil {
		e.stream = e.session.streams.open()
	} else {
		e.stream = e.h.newStreams(e.client).openOnce(e.listens)
	}
	e.reader = e.stream.read(0)
	e.written = make(chan struct{})
	go e.pump()
}

// prime sends an event without data, whose id the client can resume from if its revision has that.
// mu is held.
func (e *exchange) prime() {
	if e.session != nil && e.session.Revision() >= mcp.Revision20251125 {
		e.stream.mark(0)
	}
}

// pump writes the stream to the client. If the client is sent away before the call is answered, the
// connection ends and the call goes on.
func (e *exchange) pump() {
	defer close(e.written)
	defer e.leave()
	e.h.startStream(e.w)
	if e.h.pump(e.w, e.r, e.reader) == readerLeft {
		hangUp(e.w, e.r)
	}
}

// leave notes that the client has its answer or no longer waits for it. From then on, a call that
// goes on does not keep the session alive.
func (e *exchange) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.session != nil && !e.left {
		e.left = true
		e.session.release()
	}
}

// hangUp ends the response to a request whose handler has not returned.
func hangUp(w http.ResponseWriter, r *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client waits until the handler returns
	}
	if r.ProtoAtLeast(1, 1) {
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write([]byte("0\r\n\r\n")) // the last chunk
	}
	_ = conn.Close()
}

// Attrs implements [mcp.Responder]. Of a session's id, which is a secret, the log has the
// beginning.
func (e *exchange) Attrs() []slog.Attr {
	attrs := []slog.Attr{slog.String("caller", callerOf(e.r, e.client))}
	if e.session != nil {
		attrs = append(attrs, slog.String("session", e.session.id[:8]))
	}
	return attrs
}

// callerOf names the caller of a request in the log: by its identity, or otherwise.
func callerOf(r *http.Request, otherwise string) string {
	if id := auth.From(r.Context()); id != nil {
		otherwise = cmp.Or(id.Subject, id.Client, id.Issuer)
	}
	return clip(otherwise)
}

// Suspend implements [mcp.Responder].
func (e *exchange) Suspend(retry time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return
	}
	if e.stream == nil {
		e.w.Header().Set("Connection", "close") // hangUp closes it
		e.begin()
	}
	e.stream.mark(max(retry, time.Millisecond))
	e.stream.dismiss()
}

// Respond implements [jsonrpc.Responder].
func (e *exchange) Respond(msg []byte, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.setAnswered()
	if e.buffer != nil && cap(msg) <= maxBuffer {
		*e.buffer = msg
	}
	switch {
	case e.stream != nil:
		e.stream.finish(msg)
	case msg == nil:
		e.w.WriteHeader(http.StatusAccepted) // the client cancelled the request
	default:
		e.writeAnswer(msg, err)
	}
	e.complete = true
}

// writeAnswer writes a response that is no stream. A client that does not read its responses gets an
// error instead of a large one. mu is held.
func (e *exchange) writeAnswer(msg []byte, err error) {
	if len(msg) > maxUnflushed {
		if limit := e.h.memory.takeOne(e.client, int64(len(msg))); limit != nil {
			e.h.refuseLimit(e.w, e.r, e.msg.ID(), fmt.Errorf("the response of %d bytes is dropped: %w", len(msg), limit))
			return
		}
		e.held += int64(len(msg))
	}
	e.h.write(e.w, e.status(err), msg)
}

// maxBuffer is the size limit of a buffer that is kept for other responses.
const maxBuffer = 64 << 10

func (e *exchange) accept() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return
	}
	e.setAnswered()
	if e.stream != nil {
		e.stream.end()
		return
	}
	e.w.WriteHeader(http.StatusAccepted)
}

// setAnswered refuses further messages before the answer. mu is held.
func (e *exchange) setAnswered() {
	e.answered = true
	if e.timer != nil {
		e.timer.Stop()
	}
}

// wait waits until the response has been written, and returns the buffer to the handler.
func (e *exchange) wait() {
	e.mu.Lock()
	written := e.written
	e.mu.Unlock()
	if written != nil {
		<-written
	}
	if e.buffer != nil {
		e.h.buffers.Put(e.buffer)
		e.buffer = nil
	}
}

// Reserve implements [mcp.Responder]: a session holds memory until it ends, a subscription as long as
// this exchange.
func (e *exchange) Reserve(n int) error {
	if e.session == nil {
		return e.hold(int64(n))
	}
	return e.session.hold(e.h.memory, int64(n))
}

func (e *exchange) hold(n int64) error {
	err := e.h.memory.take(e.client, n)
	if err == nil {
		e.held += n
	}
	return err
}

// finish releases the memory that the exchange held.
func (e *exchange) finish() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.held > 0 {
		e.h.memory.give(e.client, e.held)
	}
	if e.stream != nil && e.session == nil {
		e.stream.close()
	}
}

// answer is deferred: it completes the response even if the handler of the call ended the
// goroutine, which is the connection's.
func (e *exchange) answer() {
	e.wait()
	switch {
	case e.returned || !e.complete:
	case e.stream != nil:
		hangUp(e.w, e.r)
	default:
		_ = http.NewResponseController(e.w).Flush()
		if e.w.Header()["Content-Length"] == nil { // see maxUnflushed
			hangUp(e.w, e.r)
		}
	}
}

// setSessionID tells the client the id of the session that begins with this request, if one does.
func (e *exchange) setSessionID() {
	if e.fresh {
		e.w.Header()["Mcp-Session-Id"] = []string{e.session.id}
	}
}

// status returns the status of an answer, and sets the headers that go with it.
func (e *exchange) status(err error) int {
	if err == nil {
		e.setSessionID()
		return http.StatusOK
	}
	if scope, ok := errors.AsType[*mcp.ScopeError](err); ok {
		if e.h.o.Challenge != nil {
			e.w.Header().Set("WWW-Authenticate", e.h.o.Challenge(scope.Needed))
		}
		return http.StatusForbidden
	}
	if limit, ok := errors.AsType[*limitError](err); ok {
		e.w.Header().Set("Retry-After", "1")
		return limit.status()
	}
	stateless, ok := errors.AsType[*mcp.StatelessError](err)
	switch {
	case e.batch: // the batch itself is wrong
		return http.StatusBadRequest
	case !ok:
		return http.StatusOK
	case errors.Is(err, jsonrpc.MethodNotFound):
		return http.StatusNotFound
	case stateless.Malformed, errors.Is(err, mcp.HeaderMismatch), errors.Is(err, mcp.MissingCapability), errors.Is(err, mcp.UnsupportedVersion), errors.Is(err, jsonrpc.InvalidRequest):
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (h *Handler) write(w http.ResponseWriter, status int, msg []byte) {
	header := w.Header()
	header["Content-Type"] = h.headers.json
	if len(msg) <= maxUnflushed {
		w.WriteHeader(status)
		_, _ = w.Write(msg)
		return
	}
	header["Content-Length"] = []string{strconv.Itoa(len(msg))}
	w.WriteHeader(status)
	control := http.NewResponseController(w)
	_ = h.send(w, control, msg)
	_ = control.SetWriteDeadline(time.Time{})
}

// maxUnflushed is the size of a response that net/http buffers until the handler returns. It then
// sets the Content-Length itself, and writing does not block.
const maxUnflushed = 2 << 10

func (h *Handler) serveInitialize(e *exchange, m *jsonrpc.Message) {
	if err := h.places.take(e.client, 1); err != nil {
		h.refuseLimit(e.w, e.r, m.ID(), err)
		return
	}
	s := h.newSession(e.r, e.client)
	if !h.register(s) { // before the client knows of it
		h.endNow(s)
		h.refuse(e.w, e.r, http.StatusServiceUnavailable, m.ID(), jsonrpc.Errorf(jsonrpc.InternalError, "%v", errClosing))
		return
	}
	e.session, e.fresh = s, true
	defer e.leave()
	s.Receive(context.WithoutCancel(e.r.Context()), m, e)
	if s.State() == mcp.Created && s.leave() { // initialize failed
		h.endNow(s)
	}
}
