package mcphttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// post serves a message of a client. Its response is the answer or, if the message needs none,
// empty.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	e := &exchange{h: h, w: w, r: r, client: h.client(r)}
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

// route serves a message. A request that names a stateless revision, in a header or in its _meta,
// is stateless; any other belongs to a session.
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
	case m.IsRequest() && (id == "" || m.Method() == "initialize") && namesRevision(m.Params()):
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

// namesRevision reports whether the _meta of params names a revision.
func namesRevision(params json.RawMessage) bool {
	return strictjson.Member(strictjson.Member(params, "_meta"), mcp.MetaVersion) != nil
}

// serveStateless serves a message of a revision without sessions.
func (h *Handler) serveStateless(e *exchange, m *jsonrpc.Message) {
	switch {
	case m.Method() == "subscriptions/listen" && m.IsRequest():
		if err := h.streamQuota.take(e.client, 1); err != nil {
			h.refuseLimit(e.w, e.r, m.ID(), err)
			return
		}
		defer h.streamQuota.release(e.client, 1)
		e.isSubscription = true
		// post took one call and releases it on return; a subscription must not count as a call
		// meanwhile.
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

// serveInitialize starts a session.
func (h *Handler) serveInitialize(e *exchange, m *jsonrpc.Message) {
	if err := h.takeSession(e.client); err != nil {
		h.refuseLimit(e.w, e.r, m.ID(), err)
		return
	}
	s := h.newSession(e.r, e.client)
	if !h.registerSession(s) {
		h.endSessionNow(s)
		h.refuse(e.w, e.r, http.StatusServiceUnavailable, m.ID(), jsonrpc.Errorf(jsonrpc.InternalError, "%v", errClosing))
		return
	}
	e.session, e.startsSession = s, true
	defer e.releaseSession()
	s.Receive(context.WithoutCancel(e.r.Context()), m, e)
	if s.Revision() == "" && s.markEnding() { // initialize failed
		h.endSessionNow(s)
	}
}

// serveInSession serves a message of the session with an id.
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
		e.borrowScratch()
	}
	s.Receive(context.WithoutCancel(e.r.Context()), m, e) // the client may reconnect for the answer
	e.Respond(nil, nil)                                   // unless the message has been answered
}

func errNoSession() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidRequest, "session not found: it has ended, or another process behind the load balancer has it; send initialize without Mcp-Session-Id")
}
