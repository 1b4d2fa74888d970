package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A webSession is a session over HTTP. Its messages come by POST; what the server says of its own accord goes over a stream that the client
// gets. As a transport it is that stream.
type webSession struct {
	*Session
	id        string
	principal string // whose it is
	client    string // for whom it is counted
	streams   *streams
	leaving   atomic.Bool
	using     atomic.Int64
	used      atomic.Bool // since the last sweep, so that a call costs no look at the clock
	seen      int64       // the last sweep that found it used, in nanoseconds since 1970; the handler's lock guards it
}

func (h *HTTPHandler) newSession(r *http.Request, client string) *webSession {
	s := &webSession{id: rand.Text(), principal: auth.From(r.Context()).Principal(), client: client, streams: newStreams(h.o.ReplayBuffer)}
	s.Session = h.server.newSession(s, jsonrpc.Options{Grace: untilTold})
	s.conn.Open(context.Background())
	return s
}

// Send implements [jsonrpc.Transport].
func (s *webSession) Send(msg []byte) error { return s.streams.ownStream().add(msg) }

// Receive implements [jsonrpc.Transport]. It is not called.
func (s *webSession) Receive() ([]byte, error) { return nil, io.EOF }

// Close implements [jsonrpc.Transport]. It is not called.
func (s *webSession) Close() error { return nil }

// letGo notes that one less uses the session.
func (s *webSession) letGo() {
	s.used.Store(true) // before anyone can find that nobody does
	s.using.Add(-1)
}

// close ends the session: its calls, until hurry or sooner, and then its streams.
func (s *webSession) close(hurry <-chan struct{}) {
	s.server.unwatch(s.changes)
	s.conn.Close(hurry)
	s.streams.finishAll()
}

// errClosing is why nobody may have one.
var errClosing = errors.New("the server is shutting down")

// errEach is why a client may have no further session.
var errEach = errors.New("this client has too many sessions")

// takePlace takes one of the places that there are for sessions, and returns for whom, or refuses the request.
func (h *HTTPHandler) takePlace(e *exchange, m *jsonrpc.Message) (client string, ok bool) {
	client = h.o.Client(e.r)
	err := h.countPlace(client)
	status := http.StatusServiceUnavailable
	if errors.Is(err, errEach) {
		status = http.StatusTooManyRequests
	}
	if err != nil {
		h.refuse(e.w, status, m.ID(), jsonrpc.Errorf(jsonrpc.InternalError, "%v", err))
	}
	return client, err == nil
}

func (h *HTTPHandler) countPlace(client string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closing.Load():
		return errClosing
	case h.places >= h.o.MaxSessions:
		return fmt.Errorf("there are %d sessions, the most there may be: come again later", h.o.MaxSessions)
	case h.clients[client] >= h.o.MaxSessionsEach:
		return fmt.Errorf("%w, %d: end one by DELETE", errEach, h.o.MaxSessionsEach)
	}
	h.places++
	h.clients[client]++
	return nil
}

// givePlace gives a place back.
func (h *HTTPHandler) givePlace(client string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.places--
	if h.clients[client]--; h.clients[client] == 0 {
		delete(h.clients, client)
	}
}

// enter lets a session be found, which is used until its letGo. It reports whether it can still begin.
func (h *HTTPHandler) enter(s *webSession) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing.Load() {
		return false
	}
	s.using.Add(1)
	h.server.watch(s.changes)
	h.sessions[s.id] = s
	if !h.sweeping {
		h.sweeping = true
		time.AfterFunc(h.sweepEvery(), h.sweep)
	}
	return true
}

// leave ends a session, if nobody else does. Its calls may go on until hurry, and be told what they wait for.
func (h *HTTPHandler) leave(s *webSession, hurry <-chan struct{}) {
	if s.leaving.CompareAndSwap(false, true) {
		h.end(s, hurry)
	}
}

// end is the end of a session that is leaving.
func (h *HTTPHandler) end(s *webSession, hurry <-chan struct{}) {
	s.close(hurry)
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	h.givePlace(s.client)
}

// dismiss ends a session at once: from here on it is not found.
func (h *HTTPHandler) dismiss(s *webSession) {
	if s.leaving.CompareAndSwap(false, true) {
		h.endNow(s)
	}
}

// endNow is end without waiting for it.
func (h *HTTPHandler) endNow(s *webSession) {
	now := make(chan struct{})
	close(now)
	go h.end(s, now) // a call that does not listen may take a moment
}

// find returns a session, if there is one of that name and it belongs to who asks. It is used until its letGo.
func (h *HTTPHandler) find(id string, r *http.Request) *webSession {
	who := auth.From(r.Context()).Principal()
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.leaving.Load() && !h.closing.Load() || s.principal != who {
		return nil
	}
	s.using.Add(1) // before anyone can find that nobody does
	return s
}

// sweepEvery is how often it is looked for sessions that have been idle for too long.
func (h *HTTPHandler) sweepEvery() time.Duration { return max(h.o.SessionIdle/4, time.Millisecond) }

// sweep ends the sessions that have been idle for too long. It comes again as long as there are sessions.
func (h *HTTPHandler) sweep() {
	now := time.Now()
	before := now.Add(-h.o.SessionIdle).UnixNano()
	var idle []*webSession
	h.mu.Lock()
	for _, s := range h.sessions {
		if s.using.Load() > 0 || s.used.Swap(false) {
			s.seen = now.UnixNano()
		}
		if s.seen > before {
			s.streams.forget(before)
		} else if s.leaving.CompareAndSwap(false, true) {
			idle = append(idle, s)
		}
	}
	if h.sweeping = len(h.sessions) > 0; h.sweeping {
		time.AfterFunc(h.sweepEvery(), h.sweep)
	}
	h.mu.Unlock()
	for _, s := range idle {
		h.endNow(s)
	}
}

// delete ends a session that its client has no more use for.
func (h *HTTPHandler) delete(w http.ResponseWriter, r *http.Request) {
	if s := h.named(w, r); s != nil {
		defer s.letGo()
		h.dismiss(s)
		w.WriteHeader(http.StatusNoContent)
	}
}

// get sends a client what the server says of its own accord or, after the last event of a stream that the client saw, the rest of that stream. It
// ends with the credentials of the client, which comes back with new ones.
func (h *HTTPHandler) get(w http.ResponseWriter, r *http.Request) {
	s := h.named(w, r)
	if s == nil {
		return
	}
	defer s.letGo()
	if accept := r.Header["Accept"]; len(accept) > 0 && !takes(accept, "text/event-stream") {
		h.refuse(w, http.StatusNotAcceptable, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "there is a stream here: Accept needs text/event-stream"))
		return
	}
	var rest *reader
	last, ok := single(r.Header["Last-Event-Id"])
	if ok {
		rest, ok = s.streams.after(last) // in the place of another
	}
	if !ok {
		h.refuse(w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "Last-Event-ID: this session has no such event to go on from"))
		return
	}
	if s.Revision() >= Revision20251125 {
		rest.primeOnce()
	}
	known, stop := whileKnown(r.Context())
	defer stop()
	h.startStream(w)
	h.pump(w, r.WithContext(known), rest)
}

// named finds the session that a GET or a DELETE is about, or refuses it.
func (h *HTTPHandler) named(w http.ResponseWriter, r *http.Request) *webSession {
	id, sole := single(r.Header["Mcp-Session-Id"])
	if id == "" || !sole {
		w.Header().Set("Allow", "POST")
		h.refuse(w, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "without the header Mcp-Session-Id there is only POST"))
		return nil
	}
	if version, sole := single(r.Header["Mcp-Protocol-Version"]); version != "" && !slices.Contains(HandshakeRevisions(), Revision(version)) || !sole {
		h.refuse(w, http.StatusBadRequest, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "there is no session of revision %q", short(version)))
		return nil
	}
	s := h.find(id, r)
	if s == nil {
		h.refuse(w, http.StatusNotFound, jsonrpc.ID{}, noSession())
	}
	return s
}
