package mcp

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
	"github.com/petrock/petrock/core/strictjson"
)

// post takes a message. Here the eras of the protocol part for HTTP, once for each request: one that names its revision, in a header or in
// itself, stands for itself; any other is part of a session.
func (h *HTTPHandler) post(w http.ResponseWriter, r *http.Request) {
	e := h.read(w, r)
	if e == nil {
		return
	}
	requests := e.msg.Requests()
	calls := int64(max(requests, 1))
	defer h.calls.Add(-calls)
	if n := h.calls.Add(calls); requests > 0 && (h.closing.Load() || n > int64(h.o.MaxCalls)) { // what calls in flight wait for may come
		h.refuseCall(e)
		return
	}
	defer e.finish()
	h.route(e, &e.msg)
	e.returned = true
}

// read reads a message, or refuses it and returns nil.
func (h *HTTPHandler) read(w http.ResponseWriter, r *http.Request) *exchange {
	status, why := acceptable(r.Header)
	if why == "" {
		var raw []byte
		if raw, status, why = h.readBody(r); why == "" {
			e := &exchange{h: h, w: w, r: r}
			e.msg.Parse(raw)
			return e
		}
		w.Header().Set("Connection", "close") // what is left of the body is no request
	}
	h.refuse(w, status, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "%s", why))
	return nil
}

// refuseCall refuses a request because there are too many, or there is to be none.
func (h *HTTPHandler) refuseCall(e *exchange) {
	err := jsonrpc.Errorf(jsonrpc.InternalError, "%d requests are in flight, the most there may be: come again in a moment", h.o.MaxCalls)
	if h.closing.Load() {
		e.w.Header().Set("Connection", "close")
		err = jsonrpc.Errorf(jsonrpc.InternalError, "%v", errClosing)
	}
	h.refuse(e.w, http.StatusServiceUnavailable, e.msg.ID(), err)
}

// acceptable checks the media types of a request: what is in it, and what the client takes. Where the latter is not said,
// anything is fine.
func acceptable(header http.Header) (status int, why string) {
	kind, accept := header["Content-Type"], header["Accept"]
	if len(kind) == 1 && kind[0] == "application/json" && len(accept) == 1 && accept[0] == "application/json, text/event-stream" {
		return 0, "" // as nearly all clients have it
	}
	media, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		return http.StatusUnsupportedMediaType, "a message has the Content-Type application/json"
	}
	if len(accept) == 0 || takes(accept, "application/json") && takes(accept, "text/event-stream") {
		return 0, ""
	}
	return http.StatusNotAcceptable, "an answer may be either of two media types: Accept needs application/json, text/event-stream"
}

// takes reports whether a media type is among those accepted.
func takes(accept []string, media string) bool {
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

// firstRead is how much room a body has at first: what it says of its own length costs nothing.
const firstRead = 64 << 10

// readBody reads a message, or says with which status and why not.
func (h *HTTPHandler) readBody(r *http.Request) (raw []byte, status int, why string) {
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
			return nil, http.StatusRequestTimeout, "the message took too long to come"
		case err != nil:
			return nil, http.StatusBadRequest, "the message broke off"
		case len(raw) == cap(raw):
			raw = slices.Grow(raw, len(raw))
		}
	}
}

// tooLarge says how large a message may be.
func (h *HTTPHandler) tooLarge() string {
	return fmt.Sprintf("the message is larger than the %d bytes that this server takes", h.o.MaxBody)
}

// route finds who serves a message.
func (h *HTTPHandler) route(e *exchange, m *jsonrpc.Message) {
	version, sole := single(e.r.Header["Mcp-Protocol-Version"])
	id, soleID := single(e.r.Header["Mcp-Session-Id"])
	if !sole || !soleID {
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(HeaderMismatch, "MCP-Protocol-Version and Mcp-Session-Id may stand there once"))
		return
	}
	e.version = version
	switch {
	case m.Fault() != nil:
		if s := h.find(id, e.r); s != nil {
			defer s.letGo()
			if m.IsResponse() {
				s.conn.Take(e.r.Context(), m, e) // a call may wait for it
			}
		}
		h.refuse(e.w, http.StatusBadRequest, m.ID(), m.Fault())
	case version != "" && !slices.Contains(HandshakeRevisions(), Revision(version)):
		h.stranger(e, m)
	case m.IsRequest() && (id == "" || m.Method() == "initialize") && namesRevision(m.Params()):
		h.stranger(e, m)
	case m.Method() == "initialize" && m.IsRequest():
		h.begin(e, m)
	case id == "":
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest,
			"the header Mcp-Session-Id is missing: send initialize first, which answers with it; or name the revision %s with every request, in MCP-Protocol-Version and in params._meta", Latest))
	default:
		h.member(e, m, id)
	}
}

// single is the one value of a header, or "" if there is none. It reports whether there are not several.
func single(values []string) (string, bool) {
	switch len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	}
	return "", false
}

// namesRevision reports whether the params of a request say in which revision it is.
func namesRevision(params []byte) (does bool) {
	if strictjson.First(params) != '{' {
		return false
	}
	_ = strictjson.Members(params, func(key, value []byte) error {
		if string(key) != "_meta" || strictjson.First(value) != '{' {
			return nil
		}
		return strictjson.Members(value, func(key, _ []byte) error {
			does = does || string(key) == metaVersion
			return nil
		})
	})
	return does
}

// stranger serves a message that is part of no session.
func (h *HTTPHandler) stranger(e *exchange, m *jsonrpc.Message) {
	e.modern = true
	switch {
	case m.Method() == "subscriptions/listen" && m.IsRequest():
		if client, ok := h.takePlace(e, m); ok {
			defer h.givePlace(client)
			e.listens = true
			h.calls.Add(-1) // it may last for days
			defer h.calls.Add(1)
			h.strangers.conn.Take(e.r.Context(), m, e)
			e.end()
		}
	case m.IsRequest():
		h.strangers.conn.Take(e.r.Context(), m, e)
	case m.IsBatch():
		h.refuse(e.w, http.StatusBadRequest, m.ID(), jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s knows no batches: send one message at a time", Latest))
	case m.IsResponse():
		h.refuse(e.w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %s knows no responses of clients: answers come with the next request", Latest))
	default:
		e.w.WriteHeader(http.StatusAccepted) // there is no session that a notification could be about
	}
}

// member serves a message that is part of a session.
func (h *HTTPHandler) member(e *exchange, m *jsonrpc.Message, id string) {
	s := h.find(id, e.r)
	if s == nil {
		h.refuse(e.w, http.StatusNotFound, m.ID(), noSession())
		return
	}
	e.session = s
	defer e.leave()
	if e.batch = m.IsBatch(); e.batch {
		h.lookout.enter(e)
	}
	s.conn.Take(context.WithoutCancel(e.r.Context()), m, e) // a client that is gone may come back for the answer
	e.accept()
}

func noSession() *jsonrpc.Error {
	return jsonrpc.Errorf(jsonrpc.InvalidRequest, "there is no such session: it has ended, never was, or another process has it, behind a balancer; send initialize without Mcp-Session-Id")
}
