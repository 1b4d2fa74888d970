package mcphttp

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// Options configure a [Handler]. The zero value has good defaults.
type Options struct {
	// MaxBody is the size limit of a message, in bytes (default: MaxMessage of the server).
	MaxBody int64

	// MaxSessions limits all sessions, MaxSessionsEach those of one client. Open subscriptions count as sessions
	// (default 10,000 and 1,000).
	MaxSessions, MaxSessionsEach int

	// MaxCalls limits the requests in flight. Further requests get status 503 (default 1,000).
	MaxCalls int

	// SessionIdle is how long a session is kept that its client does not use (default 30 minutes).
	SessionIdle time.Duration

	// ReplayBuffer is how many bytes of a session's streams are kept for a client that lost its connection and
	// resumes, and how many a client may leave unread (default 256 KiB).
	ReplayBuffer int

	// KeepAlive is the interval of comments on a quiet stream. The response to a call that takes longer becomes a
	// stream (default 15 seconds).
	KeepAlive time.Duration

	// WriteTimeout is how long a client may take to accept a part of a response (default 30 seconds).
	WriteTimeout time.Duration

	// Challenge returns the WWW-Authenticate header for a caller that lacks scopes; nil sends none.
	Challenge func(scopes []string) string

	// Client identifies the client of a request, for MaxSessionsEach (default: the identity of the caller, or else
	// the remote address). See [ForwardedClient].
	Client func(r *http.Request) string
}

// A Handler serves MCP over streamable HTTP, in every revision, at any path. It does not authenticate: that has
// been done before, and a session belongs to the [auth.Identity] that began it, if there is one.
type Handler struct {
	server    *mcp.Server
	o         Options
	stateless *mcp.Session // of the requests that belong to no session
	buffers   sync.Pool    // of *[]byte, for responses
	headers   fixedHeaders
	calls     atomic.Int64
	closing   atomic.Bool

	mu       sync.Mutex
	sessions map[string]*session
	clients  map[string]int // the number of sessions of each
	places   int            // how many of MaxSessions are taken
	sweeping bool
}

// fixedHeaders are header values that are the same for all responses.
type fixedHeaders struct {
	json, sse, noCache, noBuffer []string
}

// NewHandler returns a handler that serves s until its Shutdown.
func NewHandler(s *mcp.Server, o Options) *Handler {
	o.MaxBody = orDefault(o.MaxBody, int64(s.MaxMessage()))
	o.MaxSessions = orDefault(o.MaxSessions, 10_000)
	o.MaxSessionsEach = orDefault(o.MaxSessionsEach, 1_000)
	o.MaxCalls = orDefault(o.MaxCalls, 1_000)
	o.SessionIdle = orDefault(o.SessionIdle, 30*time.Minute)
	o.ReplayBuffer = orDefault(o.ReplayBuffer, 256<<10)
	o.KeepAlive = orDefault(o.KeepAlive, 15*time.Second)
	o.WriteTimeout = orDefault(o.WriteTimeout, 30*time.Second)
	if o.Client == nil {
		o.Client = directClient
	}
	return &Handler{
		server:    s,
		o:         o,
		stateless: s.NewStatelessSession(),
		buffers:   sync.Pool{New: func() any { return new([]byte) }},
		headers:   fixedHeaders{[]string{"application/json"}, []string{"text/event-stream"}, []string{"no-cache"}, []string{"no"}},
		sessions:  make(map[string]*session),
		clients:   make(map[string]int),
	}
}

// orDefault returns n, or the default if n is not positive.
func orDefault[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
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
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		h.refuse(w, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "messages come by POST, not by %s", clip(r.Method)))
	}
}

// refuse answers a request with an error of JSON-RPC and a status.
func (h *Handler) refuse(w http.ResponseWriter, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	h.write(w, status, jsonrpc.AppendError(nil, id, e))
}

// Shutdown refuses further calls, and ends all sessions and streams. Calls in flight may finish until ctx ends. It
// returns nil if all have finished, and otherwise the cause of ctx.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.closing.Load() {
		h.mu.Unlock()
		return errors.New("the handler has been shut down already")
	}
	h.closing.Store(true)
	sessions := maps.Clone(h.sessions)
	h.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { h.stateless.Close(ctx.Done()) })
	for _, s := range sessions {
		all.Go(func() { h.leave(s, ctx.Done()) })
	}
	all.Wait()
	for h.calls.Load() > 0 { // the last bytes of responses are being written
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// errAnswered is the error of a message that belongs to an answered call.
var errAnswered = errors.New("the call has been answered")
