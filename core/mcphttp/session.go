package mcphttp

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// A session is an MCP session over HTTP. The client sends messages with POST, and opens the stream
// of messages that belong to no call with GET.
type session struct {
	Session
	id        string
	principal string // owner
	client    string // for quotas
	memory    account
	streams   *streams
	ending    atomic.Bool
	begun     time.Time
	requests  atomic.Int64 // requests that use the session
	lastUsed  atomic.Int64 // when the last request ended, in nanoseconds since begun
	left      atomic.Bool  // the client has closed its stream, and not used the session since
}

func (s *session) release() {
	// Store this before requests decreases, so that a concurrent sweep sees one or the other.
	s.lastUsed.Store(int64(time.Since(s.begun)))
	s.requests.Add(-1)
}

// idle returns for how long no request has used the session, or -1 if one does.
func (s *session) idle() time.Duration {
	if s.requests.Load() > 0 {
		return -1
	}
	return time.Since(s.begun) - time.Duration(s.lastUsed.Load())
}

var (
	errStarting = &limitError{"the server is starting", http.StatusServiceUnavailable}
	errClosing  = &limitError{"the server is shutting down", http.StatusServiceUnavailable}
)

// registerSession makes a session available to requests, with the caller as its first user. It
// reports false if the handler is shutting down.
func (h *Handler) registerSession(s *session) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing.Load() {
		return false
	}
	s.requests.Add(1)
	h.sessions[s.id] = s
	if !h.sweeping {
		h.sweeping = true
		time.AfterFunc(h.sweepInterval(), h.sweep)
	}
	return true
}

// markEnding hides a session from further requests (except during Shutdown, when calls in flight
// may still need messages). It returns true once: that caller must end the session.
func (s *session) markEnding() bool { return s.ending.CompareAndSwap(false, true) }

// endSession ends a session. It cancels calls that still run when cancel is closed.
func (h *Handler) endSession(s *session, cancel <-chan struct{}) {
	s.Close(cancel)
	s.streams.endAll()
	h.mu.Lock()
	delete(h.sessions, s.id)
	h.mu.Unlock()
	s.memory.close()
	h.sessionQuota.release(s.client, 1)
}

// atOnce is closed, for endSession.
var atOnce = func() chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}()

// endSessionNow cancels the calls of a session and ends it, without waiting for them, unless it is
// already ending.
func (h *Handler) endSessionNow(s *session) {
	if s.markEnding() {
		go h.endSession(s, atOnce)
	}
}

// findSession returns the session with an id if the principal owns it, or nil. The session must be
// released after use.
func (h *Handler) findSession(id, principal string) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.sessions[id]
	if s == nil || s.ending.Load() && !h.closing.Load() || s.principal != principal {
		return nil
	}
	s.requests.Add(1)
	s.left.Store(false)
	return s
}

// minIdle is how long a session must be unused before a new one may replace it. A session whose
// client has closed its stream may be replaced at once.
const minIdle = 5 * time.Second

// takeSession counts a new session of a client. At the limit of the client or of the server, it
// first ends the session that has been idle longest.
func (h *Handler) takeSession(client string) error {
	for {
		limit, exceeded := errors.AsType[*limitError](h.sessionQuota.take(client, 1, 1))
		if !exceeded {
			return nil
		}
		s := h.longestIdle(func(s *session) bool { return s.client == client || limit.status == http.StatusServiceUnavailable })
		if s == nil {
			return limit
		}
		h.log.Info("session replaced: too many sessions", "session", s.id[:8], "reason", limit, "unused", s.idle().Round(time.Second))
		h.endSession(s, atOnce)
	}
}

// longestIdle returns the session that has been idle longest of those that match and may be
// replaced, or nil. The caller must end it.
func (h *Handler) longestIdle(match func(*session) bool) (found *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	longest := time.Duration(-1)
	for _, s := range h.sessions {
		idle := s.idle()
		if idle > longest && (idle >= minIdle || s.left.Load()) && !s.ending.Load() && match(s) {
			found, longest = s, idle
		}
	}
	if found != nil && !found.markEnding() {
		return nil
	}
	return found
}

func (h *Handler) sweepInterval() time.Duration { return max(h.o.SessionIdle/4, time.Millisecond) }

// sweep ends idle sessions, and reschedules itself while sessions exist. With a timer per session,
// every request would have to reset one.
func (h *Handler) sweep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.idle() >= h.o.SessionIdle {
			h.endSessionNow(s)
		} else {
			s.streams.dropFinishedBefore(time.Now().Add(-h.o.SessionIdle))
		}
	}
	h.sweeping = len(h.sessions) > 0
	if h.sweeping {
		time.AfterFunc(h.sweepInterval(), h.sweep)
	}
}

// takeMemory is [account.take]. At a limit, it first drops events of finished calls, which sessions
// keep for clients that reconnect.
func (h *Handler) takeMemory(a *account, n, room int64) error {
	limit, exceeded := errors.AsType[*limitError](a.take(n, room))
	if !exceeded {
		return nil
	}
	h.mu.Lock()
	for _, s := range h.sessions {
		if s.client == a.client || limit.status == http.StatusServiceUnavailable {
			s.streams.dropFinishedBefore(time.Now())
		}
	}
	h.mu.Unlock()
	return a.take(n, room)
}

// Shutdown refuses further calls, and ends all sessions and streams. It waits until calls in flight
// have finished. If ctx ends first, it cancels them. If calls are still running then, it returns
// the cause of ctx.
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
	if written := h.callQuota.busy(); written != nil { // responses are being written
		select {
		case <-written:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
