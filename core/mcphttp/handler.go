// Package mcphttp serves MCP over streamable HTTP.
//
//	handler := mcphttp.NewHandler(server, mcphttp.Options{})
//	err := mcphttp.Serve(ctx, handler, mcphttp.ServeOptions{Addr: "127.0.0.1:8181"})
//
// A [Handler] is an [http.Handler] for an [mcp.Server]. [Serve] listens and checks each request
// before the handler gets it, in this order: Host and Origin (403), path (404), credentials (401).
// In an [http.Server] of your own, the handler checks Host and Origin itself.
//
// On a loopback address, any web page can make a browser on the same machine send requests, even
// under the page's own host name (DNS rebinding). Therefore Host and Origin must be names of this
// machine, or be listed in the options. On other addresses any Host is accepted. An Origin must be
// listed, or be the origin of the Host; without gates, that Host must be listed or name this machine.
// Accepted origins get CORS headers. Cookies are not used.
//
// An address other than loopback requires a gate, or a proxy that handles TLS and authentication.
// Serve speaks HTTP/1.1 without TLS. If a request header is too large, the client gets status 431;
// if it arrives too slowly, the connection is closed. If a body arrives too slowly, the client gets
// status 408 (other handlers get [os.ErrDeadlineExceeded]). A client that reads a response too
// slowly is disconnected. Calls have no timeout.
package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// Options configure a [Handler]. The zero value has good defaults.
type Options struct {
	MaxBody     int64 // size limit of a message, in bytes (default: MaxMessage of the server)
	MaxSessions int   // maximum number of sessions (default 10,000)
	MaxCalls    int   // maximum number of requests in flight (default 1,000)
	MaxStreams  int   // maximum number of streams that clients listen to (default 400)

	// MaxMemory limits the bytes held for clients: messages in flight, subscriptions, and events
	// kept for clients that reconnect (default 64 MiB, or more if MaxBody is larger).
	MaxMemory int64

	// ClientShare is the percentage of each limit that one client may use (default 25). A client
	// above its share gets status 429. If the server is at its limit, any client gets 503. Both
	// responses have a Retry-After header.
	ClientShare int

	SessionIdle time.Duration // idle timeout of a session (default 30 minutes)

	// ReplayBuffer limits the bytes that a session keeps for a client that reconnects or reads
	// slowly (default 256 KiB).
	ReplayBuffer int

	// KeepAlive is the interval of SSE comments on a stream without events. A call that takes longer
	// than KeepAlive is answered with a stream (default 15 seconds).
	KeepAlive time.Duration

	// WriteTimeout is how long a client may take to read a part of a stream or of a large response
	// (default 30 seconds). [ServeOptions].WriteTimeout applies to all responses.
	WriteTimeout time.Duration

	// Started reports whether the server can answer calls. Until it does, they get status 503 with a
	// Retry-After header, and sessions do not exist (default: always).
	Started func() bool

	// Challenge returns the WWW-Authenticate header for a caller that lacks scopes; nil sends none.
	Challenge func(scopes []string) string

	// Origins and Hosts are as in [ServeOptions], for a handler that is not served by [Serve]. If
	// one is invalid, every request is refused.
	Origins, Hosts []string

	// Client identifies the client of a request, for ClientShare (default: the identity of the
	// caller, or else the remote address). See [ForwardedClient].
	Client func(r *http.Request) string
}

// A Handler serves MCP over streamable HTTP, in every revision, at any path. It does not authenticate
// callers. If requests have an [auth.Identity] in their context, only the identity that started a
// session can use it.
type Handler struct {
	open      func(send func(msg []byte) error) Session
	log       *slog.Logger
	o         Options
	stateless Session   // for requests without a session
	buffers   sync.Pool // of *[]byte, for responses
	closing   atomic.Bool

	origins    *originPolicy
	originsErr error

	sessionQuota, callQuota, streamQuota, memoryQuota *quota

	mu       sync.Mutex
	sessions map[string]*session
	sweeping bool
}

// NewHandler returns a handler that serves s until [Handler.Shutdown].
func NewHandler(s *mcp.Server, o Options) *Handler {
	o.MaxBody = orDefault(o.MaxBody, int64(s.MaxMessage()))
	return NewProxy(func(send func(msg []byte) error) Session {
		if send == nil {
			return s.NewStatelessSession()
		}
		return s.NewSession(send)
	}, s.CallLog(), o)
}

// A Session handles the messages of a client. Its methods are those of [mcp.Session].
type Session interface {
	Receive(ctx context.Context, m *jsonrpc.Message, r mcp.Responder)
	Revision() mcp.Revision // "" until the session is initialized
	Close(skipGrace <-chan struct{})
}

// NewProxy returns a handler whose sessions come from open instead of an [mcp.Server]. send is as in
// [mcp.Server.NewSession]; it is nil for the one session that gets all requests without a session.
// log gets refused requests.
func NewProxy(open func(send func(msg []byte) error) Session, log *slog.Logger, o Options) *Handler {
	o = o.WithDefaults()
	origins, err := newOriginPolicy(o.Origins, o.Hosts, nil)
	return &Handler{
		origins: origins, originsErr: err,
		open:         open,
		log:          log,
		o:            o,
		stateless:    open(nil),
		buffers:      sync.Pool{New: func() any { return new([]byte) }},
		sessionQuota: newQuota("sessions", int64(o.MaxSessions), o.ClientShare, 1),
		callQuota:    newQuota("calls in flight", int64(o.MaxCalls), o.ClientShare, 1),
		streamQuota:  newQuota("open streams", int64(o.MaxStreams), o.ClientShare, 1),
		memoryQuota:  newQuota("bytes held", o.MaxMemory, o.ClientShare, o.MaxBody),
		sessions:     make(map[string]*session),
	}
}

// WithDefaults returns o with defaults for all fields that are not set. The default of MaxBody is
// that of [mcp.Options].MaxMessage.
func (o Options) WithDefaults() Options {
	o.MaxBody = orDefault(o.MaxBody, jsonrpc.DefaultMaxMessage)
	o.MaxSessions = orDefault(o.MaxSessions, 10_000)
	o.MaxCalls = orDefault(o.MaxCalls, 1_000)
	o.MaxStreams = orDefault(o.MaxStreams, 400)
	o.MaxMemory = orDefault(o.MaxMemory, max(64<<20, 4*o.MaxBody))
	o.ClientShare = orDefault(o.ClientShare, 25)
	o.SessionIdle = orDefault(o.SessionIdle, 30*time.Minute)
	o.ReplayBuffer = orDefault(o.ReplayBuffer, 256<<10)
	o.KeepAlive = orDefault(o.KeepAlive, 15*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, 30*time.Second)
	if o.Client == nil {
		o.Client = directClient
	}
	if o.Started == nil {
		o.Started = func() bool { return true }
	}
	return o
}

func orDefault[N int | int64 | time.Duration](n, fallback N) N {
	if n > 0 {
		return n
	}
	return fallback
}

// directClient identifies a client by the identity of the caller, or by the remote address.
func directClient(r *http.Request) string {
	if id := auth.From(r.Context()); id != nil {
		return id.Principal()
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// ServeHTTP implements [http.Handler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if connOf(r) == nil {
		if err := h.admit(w, r); err != nil {
			h.refuse(w, r, http.StatusForbidden, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", err))
			return
		}
		if preflight(w, r) {
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		h.refuse(w, r, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "method %s is not allowed; send messages with POST", clip(r.Method)))
	}
}

// admit checks Host and Origin of a request that [Serve] has not checked.
func (h *Handler) admit(w http.ResponseWriter, r *http.Request) error {
	if h.originsErr != nil {
		return h.originsErr
	}
	policy := *h.origins
	policy.addr, _ = r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	policy.authenticated = auth.From(r.Context()) != nil
	return policy.admit(w.Header(), r)
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	logRefusal(h.log, r, h.o.Client(r), status, e.Message)
	h.write(w, status, jsonrpc.AppendError(nil, id, e))
}

// logRefusal logs a request that was refused before it became a call.
func logRefusal(log *slog.Logger, r *http.Request, client string, status int, why string) {
	log.Info("refused", "method", r.Method, "path", clip(r.URL.Path), "status", status, "error", clip(why), "caller", callerOf(r, cmp.Or(client, r.RemoteAddr)))
}

func (h *Handler) refuseLimit(w http.ResponseWriter, r *http.Request, id jsonrpc.ID, err error) {
	limit, _ := errors.AsType[*limitError](err)
	h.refuse(w, r, limit.status(), id, jsonrpc.Errorf(jsonrpc.InternalError, "%v", err))
}

// Shutdown refuses further calls, and ends all sessions and streams. It waits until calls in flight
// have finished. If ctx ends first, it cancels them. If calls are still running then, it returns the
// cause of ctx.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.closing.Load() {
		h.mu.Unlock()
		return errors.New("shut down the handler: already shut down")
	}
	h.closing.Store(true)
	sessions := maps.Clone(h.sessions)
	h.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { h.stateless.Close(ctx.Done()) })
	for _, s := range sessions {
		if s.markEnding() {
			all.Go(func() { h.endSession(s, ctx.Done()) })
		}
	}
	all.Wait()
	for h.callQuota.inUse() { // responses are still being written
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// errAnswered is returned for a message to the client of a call that has been answered.
var errAnswered = errors.New("the call has been answered")

func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	e := &exchange{h: h, w: w, r: r, client: h.o.Client(r)}
	defer e.releaseMemory()
	if !e.read() {
		return
	}
	requests := int64(e.msg.Requests())
	switch err := h.callQuota.take(e.client, requests); {
	case requests == 0:
		requests = 1
		h.callQuota.takeUnlimited(e.client, 1) // calls in flight may wait for this message
	case err != nil:
		h.refuseLimit(w, r, e.msg.ID(), err)
		return
	}
	defer h.callQuota.release(e.client, requests)
	if e.msg.Requests() > 0 {
		var unavailable error
		if h.closing.Load() {
			unavailable = errClosing
		} else if !h.o.Started() && r.Header["Mcp-Session-Id"] == nil { // a session is from before the start
			unavailable = errStarting
		}
		if unavailable != nil {
			w.Header().Set("Connection", "close")
			h.refuse(w, r, http.StatusServiceUnavailable, e.msg.ID(), jsonrpc.Errorf(jsonrpc.InternalError, "%v", unavailable))
			return
		}
	}
	defer e.completeResponse()
	h.route(e, &e.msg)
	e.returned = true
}

// read reads the message. If it fails, it refuses the request and returns false.
func (e *exchange) read() bool {
	status, why := checkMediaTypes(e.r.Header)
	if why == "" {
		var raw []byte
		var err error
		if raw, status, err = e.readBody(); err == nil {
			e.msg.Parse(raw)
			return true
		}
		e.w.Header().Set("Connection", "close") // the rest of the body is unread
		if _, ok := errors.AsType[*limitError](err); ok {
			e.h.refuseLimit(e.w, e.r, jsonrpc.ID{}, err)
			return false
		}
		why = err.Error()
	}
	e.h.refuse(e.w, e.r, status, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s", why))
	return false
}

func checkMediaTypes(header http.Header) (status int, why string) {
	kind, accept := header["Content-Type"], header["Accept"]
	if len(kind) == 1 && kind[0] == "application/json" && len(accept) == 1 && accept[0] == "application/json, text/event-stream" {
		return 0, "" // nearly all clients send these
	}
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return http.StatusUnsupportedMediaType, "Content-Type must be application/json"
	}
	if len(accept) == 0 || accepts(accept, "application/json") && accepts(accept, "text/event-stream") {
		return 0, ""
	}
	return http.StatusNotAcceptable, "Accept must include application/json and text/event-stream"
}

func accepts(accept []string, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			one, _, _ := strings.Cut(part, ";")
			one = strings.TrimSpace(one)
			if strings.EqualFold(one, media) || one == "*/*" || strings.EqualFold(one, kind+"/*") {
				return true
			}
		}
	}
	return false
}

// firstRead limits the first buffer of a body, because a client may send less than its
// Content-Length. The first buffer does not count toward MaxMemory.
const firstRead = 4 << 10

// readBody reads the body of the request. With an error it returns the status of the response; the
// status of a [*limitError] is its own.
func (e *exchange) readBody() (raw []byte, status int, err error) {
	limit := e.h.o.MaxBody
	if e.r.ContentLength > limit {
		return nil, http.StatusRequestEntityTooLarge, errTooLarge(limit)
	}
	size := e.r.ContentLength
	if size < 0 {
		size = 512
	}
	raw = make([]byte, 0, min(size, firstRead)+1) // one more, to read EOF without growing
	for {
		n, err := e.r.Body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case int64(len(raw)) > limit:
			return nil, http.StatusRequestEntityTooLarge, errTooLarge(limit)
		case errors.Is(err, io.EOF):
			return slices.Clip(raw), 0, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, http.StatusRequestTimeout, errors.New("read the request body: timeout")
		case err != nil:
			return nil, http.StatusBadRequest, errors.New("read the request body: it is incomplete")
		case len(raw) == cap(raw):
			larger := min(2*int64(cap(raw)), limit+1)
			if e.r.ContentLength >= 0 {
				larger = min(larger, e.r.ContentLength+1)
			}
			if err := e.hold(larger - int64(cap(raw))); err != nil {
				return nil, 0, err
			}
			raw = append(make([]byte, 0, larger), raw...)
		}
	}
}

func errTooLarge(limit int64) error { return fmt.Errorf("the message is larger than %d bytes", limit) }

// route serves a message. A request that names a stateless revision, in a header or in its _meta, is
// stateless; any other belongs to a session.
func (h *Handler) route(e *exchange, m *jsonrpc.Message) {
	version, id, err := sessionHeaders(e.r.Header)
	if err != nil {
		h.refuse(e.w, e.r, http.StatusBadRequest, m.ID(), err)
		return
	}
	e.version = version
	switch {
	case m.Fault() != nil:
		if s := h.findSession(id, e.r); s != nil {
			defer s.release()
			if m.IsResponse() {
				s.Receive(e.r.Context(), m, e) // a call may wait for it
			}
		}
		h.refuse(e.w, e.r, http.StatusBadRequest, m.ID(), m.Fault())
	case version != "" && !slices.Contains(mcp.HandshakeRevisions(), mcp.Revision(version)):
		h.serveStateless(e, m)
	case m.IsRequest() && (id == "" || m.Method() == "initialize") && mcp.NamesRevision(m.Params()):
		h.serveStateless(e, m)
	case m.Method() == "initialize" && m.IsRequest():
		h.serveInitialize(e, m)
	case id == "":
		h.refuse(e.w, e.r, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest,
			"header Mcp-Session-Id is missing; send initialize and repeat the Mcp-Session-Id of its response, or send revision %s in MCP-Protocol-Version and in params._meta of every request", mcp.Latest))
	default:
		h.serveInSession(e, m, id)
	}
}

// sessionHeaders returns the values of MCP-Protocol-Version and Mcp-Session-Id, or "" for those
// that are missing.
func sessionHeaders(header http.Header) (version, id string, err *jsonrpc.Error) {
	version, ok := singleValue(header["Mcp-Protocol-Version"])
	id, okID := singleValue(header["Mcp-Session-Id"])
	if !ok || !okID {
		return "", "", jsonrpc.Errorf(mcp.HeaderMismatch, "MCP-Protocol-Version and Mcp-Session-Id may be sent once")
	}
	return version, id, nil
}

// singleValue returns the value of a header, or "" if it is missing. It reports false if the header
// was sent several times.
func singleValue(values []string) (string, bool) {
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	}
	return "", false
}

func (h *Handler) serveStateless(e *exchange, m *jsonrpc.Message) {
	switch {
	case m.Method() == "subscriptions/listen" && m.IsRequest():
		if err := h.streamQuota.take(e.client, 1); err != nil {
			h.refuseLimit(e.w, e.r, m.ID(), err)
			return
		}
		defer h.streamQuota.release(e.client, 1)
		e.isSubscription = true
		// post took one call and releases it on return; a subscription must not count as a call meanwhile.
		h.callQuota.release(e.client, 1)
		defer h.callQuota.takeUnlimited(e.client, 1)
		h.stateless.Receive(e.r.Context(), m, e)
		e.waitWritten()
	case m.IsRequest():
		h.stateless.Receive(e.r.Context(), m, e)
	case m.IsBatch():
		h.refuse(e.w, e.r, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s does not support batches; send one message at a time", mcp.Latest))
	case m.IsResponse():
		h.refuse(e.w, e.r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s does not support responses from clients; send answers with the next request", mcp.Latest))
	default:
		e.w.WriteHeader(http.StatusAccepted) // a notification without a session has no effect
	}
}

func (h *Handler) serveInSession(e *exchange, m *jsonrpc.Message, id string) {
	s := h.findSession(id, e.r)
	if s == nil {
		h.refuse(e.w, e.r, http.StatusNotFound, m.ID(), errNoSession())
		return
	}
	e.session = s
	defer e.releaseSession()
	e.isBatch = m.IsBatch()
	if e.isBatch {
		e.startTimer()
	}
	s.Receive(context.WithoutCancel(e.r.Context()), m, e) // the client may reconnect for the answer
	e.respondAccepted()
}

func errNoSession() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidRequest, "session not found: it has ended, or another process behind the load balancer has it; send initialize without Mcp-Session-Id")
}
