package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// post handles a message. See route for how the two eras of the protocol are distinguished.
func (h *Handler) post(w http.ResponseWriter, r *http.Request) {
	e := h.read(w, r)
	if e == nil {
		return
	}
	requests := e.msg.Requests()
	calls := int64(max(requests, 1))
	defer h.calls.Add(-calls)
	if n := h.calls.Add(calls); requests > 0 && (h.closing.Load() || n > int64(h.o.MaxCalls)) { // calls in flight may wait for the other messages
		h.refuseCall(e)
		return
	}
	defer e.finish()
	h.route(e, &e.msg)
	e.returned = true
}

// read reads a message, or refuses the request and returns nil.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) *exchange {
	status, why := acceptable(r.Header)
	if why == "" {
		var raw []byte
		if raw, status, why = h.readBody(r); why == "" {
			e := &exchange{h: h, w: w, r: r}
			e.msg.Parse(raw)
			return e
		}
		w.Header().Set("Connection", "close") // the rest of the body is not the next request
	}
	h.refuse(w, status, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s", why))
	return nil
}

// refuseCall refuses a request because of MaxCalls or of Shutdown.
func (h *Handler) refuseCall(e *exchange) {
	err := jsonrpc.Errorf(jsonrpc.InternalError, "%d requests are in flight, which is the limit: retry later", h.o.MaxCalls)
	if h.closing.Load() {
		e.w.Header().Set("Connection", "close")
		err = jsonrpc.Errorf(jsonrpc.InternalError, "%v", errClosing)
	}
	h.refuse(e.w, http.StatusServiceUnavailable, e.msg.ID(), err)
}

// acceptable checks Content-Type and Accept. A missing Accept accepts everything.
func acceptable(header http.Header) (status int, why string) {
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

// accepts reports whether Accept headers include a media type.
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

// firstRead is the size limit of the first buffer of a body: a client may send less than its Content-Length says.
const firstRead = 64 << 10

// readBody reads a message, or returns a status and a reason.
func (h *Handler) readBody(r *http.Request) (raw []byte, status int, why string) {
	if r.ContentLength > h.o.MaxBody {
		return nil, http.StatusRequestEntityTooLarge, h.tooLarge()
	}
	room := r.ContentLength
	if room < 0 {
		room = 512
	}
	raw = make([]byte, 0, min(room, firstRead)+1) // one more, to see the end without growing
	for {
		n, err := r.Body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case int64(len(raw)) > h.o.MaxBody:
			return nil, http.StatusRequestEntityTooLarge, h.tooLarge()
		case errors.Is(err, io.EOF):
			return slices.Clip(raw), 0, ""
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, http.StatusRequestTimeout, "the request body timed out"
		case err != nil:
			return nil, http.StatusBadRequest, "the request body is incomplete"
		case len(raw) == cap(raw):
			raw = slices.Grow(raw, len(raw))
		}
	}
}

// tooLarge is the reason to refuse a message above MaxBody.
func (h *Handler) tooLarge() string {
	return fmt.Sprintf("the message is larger than %d bytes", h.o.MaxBody)
}

// route decides how a message is served. A request that names its revision, in a header or in its _meta, is stateless;
// any other belongs to a session.
func (h *Handler) route(e *exchange, m *jsonrpc.Message) {
	version, sole := single(e.r.Header["Mcp-Protocol-Version"])
	id, soleID := single(e.r.Header["Mcp-Session-Id"])
	if !sole || !soleID {
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(mcp.HeaderMismatch, "MCP-Protocol-Version and Mcp-Session-Id may be sent once"))
		return
	}
	e.version = version
	switch {
	case m.Fault() != nil:
		if s := h.find(id, e.r); s != nil {
			defer s.release()
			if m.IsResponse() {
				s.Receive(e.r.Context(), m, e) // a call may wait for it
			}
		}
		h.refuse(e.w, http.StatusBadRequest, m.ID(), m.Fault())
	case version != "" && !slices.Contains(mcp.HandshakeRevisions(), mcp.Revision(version)):
		h.serveStateless(e, m)
	case m.IsRequest() && (id == "" || m.Method() == "initialize") && mcp.NamesRevision(m.Params()):
		h.serveStateless(e, m)
	case m.Method() == "initialize" && m.IsRequest():
		h.serveInitialize(e, m)
	case id == "":
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest,
			"the header Mcp-Session-Id is missing: send initialize first, whose response has it; or name the revision %s with every request, in MCP-Protocol-Version and in params._meta", mcp.Latest))
	default:
		h.serveInSession(e, m, id)
	}
}

// single returns the value of a header, or "" if it is missing. It reports false if it was sent several times.
func single(values []string) (string, bool) {
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	}
	return "", false
}

// serveStateless serves a message that belongs to no session.
func (h *Handler) serveStateless(e *exchange, m *jsonrpc.Message) {
	switch {
	case m.Method() == "subscriptions/listen" && m.IsRequest():
		if client, ok := h.takePlace(e, m); ok {
			defer h.givePlace(client)
			e.listens = true
			h.calls.Add(-1) // it may last for days
			defer h.calls.Add(1)
			h.stateless.Receive(e.r.Context(), m, e)
			e.wait()
		}
	case m.IsRequest():
		h.stateless.Receive(e.r.Context(), m, e)
	case m.IsBatch():
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s has no batches: send one message at a time", mcp.Latest))
	case m.IsResponse():
		h.refuse(e.w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s has no responses of clients: send answers with the next request", mcp.Latest))
	default:
		e.w.WriteHeader(http.StatusAccepted) // a notification needs a session to have an effect
	}
}

// serveInSession serves a message of a session.
func (h *Handler) serveInSession(e *exchange, m *jsonrpc.Message, id string) {
	s := h.find(id, e.r)
	if s == nil {
		h.refuse(e.w, http.StatusNotFound, m.ID(), noSession())
		return
	}
	e.session = s
	defer e.leave()
	if e.batch = m.IsBatch(); e.batch {
		e.startTimer()
	}
	s.Receive(context.WithoutCancel(e.r.Context()), m, e) // the client may reconnect for the answer
	e.accept()
}

func noSession() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidRequest, "the session does not exist: it has ended, or another process behind a load balancer has it; send initialize without Mcp-Session-Id")
}
