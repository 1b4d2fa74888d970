package mcphttp

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A session is one over HTTP. Its messages come by POST. Messages that belong to no call go over a
// stream that the client opens by GET.
type session struct {
	*mcp.Session
	id        string
	principal string // whose it is
	client    string // whose share it uses
	streams   *streams
	leaving   atomic.Bool
	using     atomic.Int64 // requests that use it
	used      atomic.Bool  // since the last sweep
	seen      int64        // the last sweep that found it used, in nanoseconds since 1970; guarded by Handler.mu

	mu    sync.Mutex
	held  int64 // of the handler's memory
	ended bool
}

func (h *Handler) newSession(r *http.Request, client string) *session {
	s := &session{id: rand.Text(), principal: auth.From(r.Context()).Principal(), client: client, streams: h.newStreams(client)}
	s.Session = h.server.NewSession(func(msg []byte) error { return s.streams.ownStream().add(msg) })
	return s
}

// hold counts n more bytes for the session's client until the session ends, or fewer if n is negative.
func (s *session) hold(memory *quota, n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	if n < 0 {
		memory.give(s.client, -n)
	} else if err := memory.take(s.client, n); err != nil {
		return err
	}
	s.held += n
	return nil
}

func (s *session) releaseMemory(memory *quota) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	memory.give(s.client, s.held)
}

func (s *session) release() {
	s.used.Store(true) // before using, so that the sweep sees one of the two
	s.using.Add(-1)
}

// errClosing refuses new sessions and calls.
var errClosing = errors.New("the server is shutting down")

// register lets requests find a session, and counts as one that uses it. It reports false if the
// handler is shutting down.
func (h *Handler) register(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing.Load() {
		return false
	}
	s.using.Add(1)
	h.sessions[s.id] = s
	if !h.sweeping {
		h.sweeping = true
		time.AfterFunc(h.sweepInterval(), h.sweep)
	}
	return true
}

// leave marks a session as ended: requests no longer find it. It reports true to its first caller, who
// must end the session.
func (s *session) leave() bool { return s.leaving.CompareAndSwap(false, true) }

// end ends a session. Its calls may go on until hurry is closed.
func (h *Handler) end(s *session, hurry <-chan struct{}) {
	s.Close(hurry)
	s.streams.finishAll()
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.streams.close()
	s.releaseMemory(h.memory)
	h.places.give(s.client, 1)
}

// endNow ends a session and cancels its calls. It does not wait for them.
func (h *Handler) endNow(s *session) {
	now := make(chan struct{})
	close(now)
	go h.end(s, now) // a call that ignores its context may take a while
}

// find returns the session with an id if it belongs to the caller, or nil. The caller must release it.
func (h *Handler) find(id string, r *http.Request) *session {
	who := auth.From(r.Context()).Principal()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.leaving.Load() && !h.closing.Load() || s.principal != who {
		return nil
	}
	s.using.Add(1)
	return s
}

func (h *Handler) sweepInterval() time.Duration { return max(h.o.SessionIdle/4, time.Millisecond) }

// sweep ends the sessions that have been idle for too long. It runs again as long as there are
// sessions. One timer for all is simpler than one for each, which every request would have to
// reset.
func (h *Handler) sweep() {
	now := time.Now()
	before := now.Add(-h.o.SessionIdle).UnixNano()
	var idle []*session
	h.mu.Lock()
	for _, s := range h.sessions {
		if s.using.Load() > 0 || s.used.Swap(false) {
			s.seen = now.UnixNano()
		}
		if s.seen > before {
			s.streams.forget(before)
		} else if s.leave() {
			idle = append(idle, s)
		}
	}
	if h.sweeping = len(h.sessions) > 0; h.sweeping {
		time.AfterFunc(h.sweepInterval(), h.sweep)
	}
	h.mu.Unlock()
	for _, s := range idle {
		h.endNow(s)
	}
}

func (h *Handler) delete(w http.ResponseWriter, r *http.Request) {
	if s := h.named(w, r); s != nil {
		defer s.release()
		if s.leave() {
			h.endNow(s)
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// get streams the messages that belong to no call or, with Last-Event-ID, resumes a stream. It ends
// when the credentials of the client expire.
func (h *Handler) get(w http.ResponseWriter, r *http.Request) {
	s := h.named(w, r)
	if s == nil {
		return
	}
	defer s.release()
	if accept := r.Header["Accept"]; len(accept) > 0 && !accepts(accept, "text/event-stream") {
		h.refuse(w, r, http.StatusNotAcceptable, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "GET returns a stream: Accept must include text/event-stream"))
		return
	}
	client := h.o.Client(r)
	if err := h.streams.take(client, 1); err != nil {
		h.refuseLimit(w, r, jsonrpc.ID{}, err)
		return
	}
	defer h.streams.give(client, 1)
	var rest *reader
	last, ok := single(r.Header["Last-Event-Id"])
	if ok {
		rest, ok = s.streams.after(last) // replaces another reader of the stream
	}
	if !ok {
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "Last-Event-ID: this session has no such event to resume from"))
		return
	}
	if s.Revision() >= mcp.Revision20251125 {
		rest.primeOnce()
	}
	known, stop := auth.UntilExpiry(r.Context())
	defer stop()
	h.startStream(w)
	h.pump(w, r.WithContext(known), rest)
}

func (h *Handler) named(w http.ResponseWriter, r *http.Request) *session {
	version, id, err := sessionHeaders(r.Header)
	if err != nil {
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, err)
		return nil
	}
	if id == "" {
		w.Header().Set("Allow", "POST")
		h.refuse(w, r, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "without the header Mcp-Session-Id only POST is allowed"))
		return nil
	}
	if version != "" && !slices.Contains(mcp.HandshakeRevisions(), mcp.Revision(version)) {
		h.refuse(w, r, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "revision %q has no sessions", clip(version)))
		return nil
	}
	s := h.find(id, r)
	if s == nil {
		h.refuse(w, r, http.StatusNotFound, jsonrpc.ID{}, noSession())
	}
	return s
}
