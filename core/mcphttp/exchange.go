package mcphttp

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
)

// An exchange is one POST and its response. It implements [transport.Exchange]. The response is
// plain JSON. If the call sends other messages before its answer or takes long, the response
// becomes a stream.
type exchange struct {
	h         *Handler
	w         http.ResponseWriter // once stream is set, only Handler.writeStream writes to it
	r         *http.Request
	principal string  // owns the sessions that the request starts
	client    string  // for quotas
	memory    account // of the message, a large answer and, without a session, of Reserve
	msg       peer.Request
	version   string      // the header MCP-Protocol-Version
	session   *session    // nil for a stateless request
	released  atomic.Bool // the session
	scratch   *scratch    // of a call, from the handler's pool; nil before it starts

	mu       sync.Mutex
	answered bool // the answer has been written, or added to the stream
	stream   *stream
	writing  sync.WaitGroup // waits for Handler.writeStream
}

// A scratch is what a call borrows: the buffer of its response, and the timer that turns the
// response into a stream if the call is slow. A new timer for each call would cost 3 % of the
// throughput in petrock's own benchmark.
type scratch struct {
	buffer  []byte
	timer   *time.Timer
	stopped bool // the timer, before it expired
	user    atomic.Pointer[exchange]
}

// maxBuffer is the size limit of a buffer that goes back to the pool.
const maxBuffer = 64 << 10

func newScratch() *scratch {
	s := &scratch{}
	s.timer = time.AfterFunc(time.Hour, func() { s.user.Load().startStream() })
	s.timer.Stop()
	return s
}

// Buffer implements [peer.Responder]. It is called when a call starts, and starts the timer.
func (e *exchange) Buffer() []byte {
	s, ok := e.h.scratch.Get().(*scratch)
	if !ok {
		s = newScratch()
	}
	s.user.Store(e)
	s.stopped = false
	s.timer.Reset(e.h.o.KeepAlive)
	e.scratch = s
	return s.buffer[:0]
}

// startStream turns the response into a stream, unless it already is one or is complete.
func (e *exchange) startStream() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.answered {
		e.ensureStream()
	}
}

// Send implements [peer.Responder].
func (e *exchange) Send(msg []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return errAnswered
	}
	e.ensureStream()
	return e.stream.add(msg)
}

// ensureStream makes the response a stream that begins with an event that has only an id, from
// which the client can resume the stream. Revisions that do not support that get no such event. mu
// is held.
func (e *exchange) ensureStream() {
	if e.stream != nil {
		return
	}
	e.openStream()
	if e.session != nil && e.session.Revision() >= mcp.Revision20251125 {
		e.stream.addEmpty(0)
	}
}

const methodListen = "subscriptions/listen"

// openStream makes the response a stream, and writes it to the client. If the reader is dismissed
// before the call is answered, the connection is closed and the call continues. mu is held.
func (e *exchange) openStream() {
	var from *reader
	if e.session != nil {
		from = e.session.streams.open(true, false)
	} else {
		from = newStreams(e.h.o.ReplayBuffer, &e.memory).open(false, e.msg.Method() == methodListen)
	}
	e.stream = from.stream
	e.writing.Go(func() {
		defer e.releaseSession()
		if e.h.writeStream(e.w, e.r, from) == readerDismissed {
			hangUp(e.w, e.r)
		}
	})
}

// releaseSession releases the session once the client has its answer or no longer waits for it. A
// call that still runs does not keep the session alive.
func (e *exchange) releaseSession() {
	if e.session != nil && e.released.CompareAndSwap(false, true) {
		e.session.release()
	}
}

// hangUp ends a response before its handler returns. It writes the last chunk itself: net/http does
// so only when the handler returns, which waits for the call, and without that chunk clients report
// an unexpected end of the response instead of reconnecting.
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

// writeStream writes a stream to a client until the stream ends, the client disconnects or the
// reader is dismissed.
func (h *Handler) writeStream(w http.ResponseWriter, r *http.Request, from *reader) (state readerState) {
	defer func() { from.release(state == readerDone) }()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	_ = control.Flush()
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }()
	quiet := time.NewTimer(h.o.KeepAlive)
	defer quiet.Stop()
	var buf []byte
	for {
		if buf, state = from.appendPending(buf[:0]); len(buf) > 0 {
			if h.send(w, control, buf) != nil {
				return readerDisconnected
			}
			quiet.Reset(h.o.KeepAlive)
			if state == readerWaits {
				continue
			}
		}
		if state == readerLost {
			// A write that fails breaks the connection, which cancels the call.
			_ = control.SetWriteDeadline(time.Unix(1, 0))
			_, _ = w.Write([]byte(":\n\n"))
			_ = control.Flush()
		}
		if state != readerWaits {
			return state
		}
		select {
		case <-from.wakeup:
		case <-r.Context().Done():
			return readerDisconnected
		case <-quiet.C:
			if h.send(w, control, []byte(":\n\n")) != nil {
				return readerDisconnected
			}
			quiet.Reset(h.o.KeepAlive)
		}
	}
}

// send writes to a client in pieces. Each piece has its own write timeout.
func (h *Handler) send(w http.ResponseWriter, control *http.ResponseController, data []byte) error {
	for piece := range slices.Chunk(data, writeSize) {
		_ = control.SetWriteDeadline(time.Now().Add(h.o.WriteTimeout))
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return control.Flush()
}

// Origin implements [transport.Exchange]. Session ids are secrets, so the log gets only the first
// eight characters.
func (e *exchange) Origin() transport.Origin {
	origin := transport.Origin{Caller: callerOf(e.r, e.client), Traceparent: e.r.Header.Get("Traceparent"), Version: e.version}
	if e.session != nil {
		origin.Session = e.session.id[:8]
	}
	return origin
}

// Reserve implements [transport.Exchange]. The session holds the memory until it ends; without a
// session, this exchange does.
func (e *exchange) Reserve(n int) error {
	if e.session == nil {
		return e.h.takeMemory(&e.memory, int64(n), int64(n))
	}
	return e.h.takeMemory(&e.session.memory, int64(n), int64(n))
}

// Suspend implements [transport.Exchange]. It ends the response, and asks the client to reconnect
// for the rest.
func (e *exchange) Suspend(retry time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answered {
		return
	}
	if e.stream == nil {
		e.w.Header().Set("Connection", "close") // hangUp closes the connection
		e.openStream()
	}
	e.stream.addEmpty(max(retry, time.Millisecond))
	e.stream.dismiss()
}

// Respond implements [peer.Responder]. Only the first call has an effect.
func (e *exchange) Respond(msg []byte, err error) {
	e.mu.Lock()
	if e.answered {
		e.mu.Unlock()
		return
	}
	e.answered = true // no message is added, and no stream is opened any more
	e.mu.Unlock()
	if s := e.scratch; s != nil {
		s.stopped = s.timer.Stop()
		if cap(msg) <= maxBuffer {
			s.buffer = msg
		}
	}
	if len(msg) > maxUnflushed {
		msg, err = e.reserveAnswer(msg, err)
	}
	switch {
	case e.stream != nil:
		e.stream.finish(msg)
	case msg == nil:
		// There is no answer, or the client cancelled the request.
		e.w.WriteHeader(http.StatusAccepted)
	default:
		e.writeAnswer(msg, err)
	}
}

// reserveAnswer reserves memory for a large answer, and returns the answer and its error. If the
// memory quota of the client is used up, it returns another answer: that this one is lost. Its
// status is 200, because 429 and 503 mean that the request has not been executed.
func (e *exchange) reserveAnswer(msg []byte, err error) ([]byte, error) {
	size := int64(len(msg))
	if e.stream != nil {
		size = 0 // the stream reserves it
	}
	limit := e.h.takeMemory(&e.memory, size, 1)
	if limit == nil {
		return msg, err
	}
	lost := jsonrpc.Errorf(jsonrpc.InternalError, "the request was executed, but its response of %d bytes is lost: %v", len(msg), limit)
	e.h.log.Warn("response lost", "error", lost.Message, "caller", callerOf(e.r, e.client))
	return jsonrpc.AppendError(nil, e.msg.ID(), lost), nil
}

// writeAnswer writes a response that is not a stream.
func (e *exchange) writeAnswer(msg []byte, err error) {
	status := e.setStatusHeaders(err)
	e.w.Header()["Content-Type"] = jsonContentType
	if len(msg) <= maxUnflushed {
		e.w.WriteHeader(status)
		_, _ = e.w.Write(msg)
		return
	}
	e.w.Header().Set("Content-Length", strconv.Itoa(len(msg)))
	e.w.WriteHeader(status)
	control := http.NewResponseController(e.w)
	_ = e.h.send(e.w, control, msg)
	_ = control.SetWriteDeadline(time.Time{})
}

// maxUnflushed is the largest response that net/http buffers until the handler returns. For such a
// response, net/http sets the Content-Length, and Write does not block.
const maxUnflushed = 2 << 10

// setStatusHeaders sets the headers that belong to the status of an answer, and returns the status.
func (e *exchange) setStatusHeaders(err error) int {
	if err == nil {
		return http.StatusOK
	}
	e.w.Header().Del("Mcp-Session-Id") // initialize failed
	if scope, ok := errors.AsType[*mcp.ScopeError](err); ok {
		if e.h.o.Challenge != nil {
			e.w.Header().Set("WWW-Authenticate", e.h.o.Challenge(scope.Needed))
		}
		return http.StatusForbidden
	}
	if limit, ok := errors.AsType[*limitError](err); ok {
		e.w.Header().Set("Retry-After", "1")
		return limit.status
	}
	stateless, ok := errors.AsType[*transport.StatelessError](err)
	switch {
	case e.msg.IsBatch(): // the batch itself is invalid
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

// complete waits until the response has been written. It puts the scratch back into the pool,
// unless its timer has expired: it may still use the exchange.
func (e *exchange) complete() {
	e.writing.Wait()
	if s := e.scratch; s != nil && (s.stopped || s.timer.Stop()) {
		s.user.Store(nil)
		e.scratch = nil
		e.h.scratch.Put(s)
	}
}
