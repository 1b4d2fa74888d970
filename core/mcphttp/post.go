package mcphttp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/strictjson"
)

// ServeHTTP implements [http.Handler]. It checks Host and Origin first, because it may be served by
// any [http.Server].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if reason, _ := h.origins.admit(w.Header(), r, site{addr, auth.From(r.Context()) != nil}); reason != "" {
		h.refuse(w, r, invalid(http.StatusForbidden, jsonrpc.ID{}, "%s", reason))
		return
	}
	if !preflight(w, r) {
		h.serveAdmitted(w, r)
	}
}

// serveAdmitted serves a request whose Host and Origin have been checked.
func (h *Handler) serveAdmitted(w http.ResponseWriter, r *http.Request) {
	var refused *refusal
	switch r.Method {
	case http.MethodPost:
		refused = h.post(w, r)
	case http.MethodGet:
		refused = h.get(w, r)
	case http.MethodDelete:
		refused = h.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		refused = invalid(http.StatusMethodNotAllowed, jsonrpc.ID{}, "method %s is not allowed; send messages with POST", clip(r.Method))
	}
	if refused != nil {
		h.refuse(w, r, refused)
	}
}

// post serves a message of a client. Its response is the answer or, if the message needs none,
// empty.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) *refusal {
	principal, client := h.identify(r)
	e := &exchange{h: h, w: w, r: r, principal: principal, client: client, memory: account{quota: h.memoryQuota, client: client}}
	defer e.memory.close()
	if refused := checkMediaTypes(r.Header); refused != nil {
		return refused
	}
	raw, refused := e.readBody()
	if refused != nil {
		w.Header().Set("Connection", "close") // the rest of the body is unread
		return refused
	}
	e.msg.Parse(raw)
	requests := int64(e.msg.Requests())
	if most := h.callQuota.perClient; requests > most { // which no later try would change
		return invalid(http.StatusBadRequest, e.msg.ID(), "a batch may have at most %d requests, got %d", most, requests)
	}
	// A message that is not a request is never refused, because calls may wait for it.
	count := max(1, requests)
	if err := h.callQuota.take(e.client, count, requests); err != nil {
		return overLimit(e.msg.ID(), err)
	}
	defer h.callQuota.release(e.client, count)
	if why := h.unavailable(r); why != nil && requests > 0 {
		w.Header().Set("Connection", "close")
		return overLimit(e.msg.ID(), why)
	}
	defer e.complete()
	return h.route(e)
}

// delete ends a session.
func (h *Handler) delete(w http.ResponseWriter, r *http.Request) *refusal {
	s, refused := h.lookupSession(w, r)
	if refused != nil {
		return refused
	}
	defer s.release()
	h.endSessionNow(s)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// get streams the messages that belong to no call or, with Last-Event-ID, resumes a stream. It ends
// when the credentials of the client expire.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) *refusal {
	s, refused := h.lookupSession(w, r)
	if refused != nil {
		return refused
	}
	defer s.release()
	if accept := r.Header["Accept"]; len(accept) > 0 && !accepts(accept, "text/event-stream") {
		return invalid(http.StatusNotAcceptable, jsonrpc.ID{}, "Accept must include text/event-stream: GET returns a stream")
	}
	_, client := h.identify(r)
	if err := h.streamQuota.take(client, 1, 1); err != nil {
		return overLimit(jsonrpc.ID{}, err)
	}
	defer h.streamQuota.release(client, 1)
	var reader *reader
	last, ok := singleValue(r.Header["Last-Event-Id"])
	if ok {
		reader, ok = s.streams.resumeAfter(last) // replaces another reader of the stream
	}
	if !ok {
		return invalid(http.StatusBadRequest, jsonrpc.ID{}, "resume after Last-Event-ID: this session does not have that event")
	}
	if s.Revision() >= mcp.Revision20251125 {
		reader.primeOnce()
	}
	ctx, stop := auth.UntilExpiry(r.Context())
	defer stop()
	h.writeStream(w, r.WithContext(ctx), reader)
	s.left.Store(r.Context().Err() != nil)
	return nil
}

// lookupSession returns the session that the headers of a request name, see findSession.
func (h *Handler) lookupSession(w http.ResponseWriter, r *http.Request) (*session, *refusal) {
	version, id, err := sessionHeaders(r.Header)
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, jsonrpc.ID{}, err}
	}
	if id == "" {
		w.Header().Set("Allow", "POST")
		return nil, invalid(http.StatusMethodNotAllowed, jsonrpc.ID{}, "header Mcp-Session-Id is missing; only POST is allowed without it")
	}
	if version != "" && !slices.Contains(mcp.HandshakeRevisions(), mcp.Revision(version)) {
		return nil, invalid(http.StatusBadRequest, jsonrpc.ID{}, "revision %q does not support sessions", clip(version))
	}
	principal, _ := h.identify(r)
	s := h.findSession(id, principal)
	if s == nil {
		return nil, noSession(jsonrpc.ID{})
	}
	return s, nil
}

// unavailable returns errStarting or errClosing if the server cannot answer calls. A request with a
// session id does not get errStarting: its session is from before the start, and does not exist.
func (h *Handler) unavailable(r *http.Request) *limitError {
	switch {
	case h.closing.Load():
		return errClosing
	case h.o.Started != nil && !h.o.Started() && r.Header["Mcp-Session-Id"] == nil:
		return errStarting
	}
	return nil
}

// usualAccept is the Accept header that the official SDKs send.
const usualAccept = "application/json, text/event-stream"

// checkMediaTypes does not parse the headers that most requests have.
func checkMediaTypes(header http.Header) *refusal {
	content, accept := header["Content-Type"], header["Accept"]
	if len(content) == 0 || content[0] != "application/json" && !isMedia(content[0], "application/json") {
		return invalid(http.StatusUnsupportedMediaType, jsonrpc.ID{}, "Content-Type must be application/json")
	}
	if len(accept) == 0 || accept[0] == usualAccept || accepts(accept, "application/json") && accepts(accept, "text/event-stream") {
		return nil
	}
	return invalid(http.StatusNotAcceptable, jsonrpc.ID{}, "Accept must include application/json and text/event-stream")
}

func accepts(accept []string, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	for _, line := range accept {
		for part := range strings.SplitSeq(line, ",") {
			if isMedia(part, media) || isMedia(part, "*/*") || isMedia(part, kind+"/*") {
				return true
			}
		}
	}
	return false
}

// isMedia reports whether an element of a header is a media type, with or without parameters.
func isMedia(text, media string) bool {
	text, _, _ = strings.Cut(text, ";")
	return strings.EqualFold(strings.TrimSpace(text), media)
}

// firstRead limits the first buffer of a body, because a client may send less than its
// Content-Length. The first buffer does not count toward MaxMemory.
const firstRead = 4 << 10

// readBody reads the body of the request.
func (e *exchange) readBody() (raw []byte, refused *refusal) {
	limit := e.h.o.MaxBody
	if e.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	size := e.r.ContentLength
	if size < 0 {
		size = limit // it is not known
	}
	raw = make([]byte, 0, min(size, firstRead)+1) // one more, to read EOF without growing
	for {
		n, err := e.r.Body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case int64(len(raw)) > limit:
			return nil, tooLarge(limit)
		case errors.Is(err, io.EOF):
			return slices.Clip(raw), nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, invalid(http.StatusRequestTimeout, jsonrpc.ID{}, "read the request body: timeout")
		case err != nil:
			return nil, invalid(http.StatusBadRequest, jsonrpc.ID{}, "read the request body: it is incomplete")
		case len(raw) == cap(raw):
			if int64(len(raw)) > size {
				size = limit // middleware has replaced the body, such as by its decompressed form
			}
			larger := min(2*int64(cap(raw)), size+1)
			more := larger - int64(cap(raw))
			if err := e.h.takeMemory(&e.memory, more, more); err != nil {
				return nil, overLimit(jsonrpc.ID{}, err)
			}
			raw = append(make([]byte, 0, larger), raw...)
		}
	}
}

func tooLarge(limit int64) *refusal {
	return invalid(http.StatusRequestEntityTooLarge, jsonrpc.ID{}, "the message is larger than %d bytes", limit)
}

// route serves a message. A request that names a stateless revision, in a header or in its _meta,
// is stateless; any other belongs to a session.
func (h *Handler) route(e *exchange) (refused *refusal) {
	m := &e.msg
	version, id, err := sessionHeaders(e.r.Header)
	if err != nil {
		return &refusal{http.StatusBadRequest, m.ID(), err}
	}
	e.version = version
	switch {
	case m.Fault() != nil:
		if s := h.findSession(id, e.principal); s != nil {
			defer s.release()
			if m.IsResponse() {
				s.Receive(e.r.Context(), m, e) // a call may wait for it
			}
		}
		return &refusal{http.StatusBadRequest, m.ID(), m.Fault().Err}
	case version != "" && !slices.Contains(mcp.HandshakeRevisions(), mcp.Revision(version)),
		m.IsRequest() && (id == "" || m.Method() == "initialize") && namesRevision(m.Params()):
		return h.serveStateless(e, m)
	case m.Method() == "initialize" && m.IsRequest():
		e.session, refused = h.startSession(e)
	case id == "":
		return invalid(http.StatusBadRequest, m.ID(), "header Mcp-Session-Id is missing; send initialize and repeat the Mcp-Session-Id of its response, "+
			"or send revision %s in MCP-Protocol-Version and in params._meta of every request", mcp.Latest)
	default:
		if e.session = h.findSession(id, e.principal); e.session == nil {
			refused = noSession(m.ID())
		}
	}
	if refused == nil {
		e.serveInSession()
	}
	return refused
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
	if len(values) == 0 {
		return "", true
	}
	return values[0], len(values) == 1
}

// namesRevision reports whether the _meta of params names a revision.
func namesRevision(params json.RawMessage) bool {
	return strictjson.Member(strictjson.Member(params, "_meta"), mcp.MetaVersion) != nil
}

// serveStateless serves a message of a revision without sessions.
func (h *Handler) serveStateless(e *exchange, m *peer.Request) *refusal {
	switch {
	case m.Method() == methodListen && m.IsRequest():
		if err := h.streamQuota.take(e.client, 1, 1); err != nil {
			return overLimit(m.ID(), err)
		}
		defer h.streamQuota.release(e.client, 1)
		// post took one call and releases it on return; a subscription must not count as a call
		// meanwhile.
		h.callQuota.release(e.client, 1)
		defer h.callQuota.take(e.client, 1, 0)
		h.stateless.Receive(e.r.Context(), m, e)
		e.writing.Wait()
	case m.IsRequest():
		h.stateless.Receive(e.r.Context(), m, e)
	case m.IsBatch():
		return invalid(http.StatusBadRequest, m.ID(), "revision %s does not support batches; send one message at a time", mcp.Latest)
	case m.IsResponse():
		return invalid(http.StatusBadRequest, jsonrpc.ID{}, "revision %s does not support responses from clients; send answers with the next request", mcp.Latest)
	default:
		e.w.WriteHeader(http.StatusAccepted) // a notification without a session has no effect
	}
	return nil
}

// startSession starts the session of an initialize request.
func (h *Handler) startSession(e *exchange) (*session, *refusal) {
	if err := h.takeSession(e.client); err != nil {
		return nil, overLimit(e.msg.ID(), err)
	}
	s := &session{id: rand.Text(), principal: e.principal, client: e.client, begun: time.Now()}
	s.memory.quota, s.memory.client = h.memoryQuota, e.client
	s.streams = newStreams(h.o.ReplayBuffer, &s.memory)
	s.Session = h.open(func(msg []byte) error { return s.streams.standalone.add(msg) })
	if !h.registerSession(s) {
		h.endSessionNow(s)
		return nil, overLimit(e.msg.ID(), errClosing)
	}
	e.w.Header()["Mcp-Session-Id"] = []string{s.id}
	return s, nil
}

// serveInSession serves a message of the session.
func (e *exchange) serveInSession() {
	defer e.releaseSession()
	if e.msg.IsBatch() {
		_ = e.Buffer() // for the timer
	}
	// The client may reconnect for the answer, so the call does not end with this request.
	e.session.Receive(context.WithoutCancel(e.r.Context()), &e.msg, e)
	e.Respond(nil, nil)             // unless the message has been answered
	if e.session.Revision() == "" { // initialize failed
		e.h.endSessionNow(e.session)
	}
}

func noSession(id jsonrpc.ID) *refusal {
	return invalid(http.StatusNotFound, id, "session not found: it has ended, or another process behind the load balancer has it; send initialize without Mcp-Session-Id")
}
