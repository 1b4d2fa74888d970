package mcp

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// HTTPOptions are the choices for [Server.HTTP]. The zero value is a good one.
type HTTPOptions struct {
	// MaxBody is the largest message taken, in bytes; 0 means as for other transports.
	MaxBody int64

	// MaxSessions is how many sessions there may be, and MaxSessionsEach how many of one client. Streams that wait for changes count
	// as sessions too. 0 means 10,000 and 1,000.
	MaxSessions, MaxSessionsEach int

	// MaxCalls is how many requests may be in flight; one more is told to come again. 0 means 1,000.
	MaxCalls int

	// SessionIdle is after how long a session ends that its client does not use and listens to no more; 0 means 30 minutes.
	SessionIdle time.Duration

	// ReplayBuffer is how much is kept of what was sent over the streams of a session, for a client that lost one and asks for the rest,
	// and how much a client may leave unread, in bytes. 0 means 256 KiB.
	ReplayBuffer int

	// KeepAlive is how often something goes over a stream that is quiet; a call that takes longer is answered by a stream.
	// 0 means 15 seconds.
	KeepAlive time.Duration

	// WriteTimeout is how long a client may take no byte of what is sent to it; 0 means 30 seconds.
	WriteTimeout time.Duration

	// Challenge is the WWW-Authenticate for a caller who needs more scopes; nil means none.
	Challenge func(scopes []string) string

	// Client says whose session it would be, for MaxSessionsEach; nil means the identity of the caller, or the address.
	Client func(r *http.Request) string
}

// An HTTPHandler serves MCP over streamable HTTP, in every revision, at whatever path it is asked. Who may come in has been decided
// before; a session belongs to the [auth.Identity] that began it, as far as there is one.
type HTTPHandler struct {
	server    *Server
	o         HTTPOptions
	strangers *Session // where requests come from that are part of no session
	rooms     sync.Pool
	lookout   *lookout
	headers   fixedHeaders
	calls     atomic.Int64
	closing   atomic.Bool

	mu       sync.Mutex
	sessions map[string]*webSession
	clients  map[string]int // sessions of each
	places   int            // taken, of MaxSessions
	sweeping bool
}

// fixedHeaders are values of headers that are the same for all answers.
type fixedHeaders struct {
	json, sse, noCache, noBuffer []string
}

// HTTP returns a handler that serves s until its Shutdown.
func (s *Server) HTTP(o HTTPOptions) *HTTPHandler {
	o.MaxBody = either(o.MaxBody, int64(either(s.maxMessage, jsonrpc.DefaultMaxMessage)))
	o.MaxSessions = either(o.MaxSessions, 10_000)
	o.MaxSessionsEach = either(o.MaxSessionsEach, 1_000)
	o.MaxCalls = either(o.MaxCalls, 1_000)
	o.SessionIdle = either(o.SessionIdle, 30*time.Minute)
	o.ReplayBuffer = either(o.ReplayBuffer, 256<<10)
	o.KeepAlive = either(o.KeepAlive, 15*time.Second)
	o.WriteTimeout = either(o.WriteTimeout, 30*time.Second)
	if o.Client == nil {
		o.Client = clientOf
	}
	h := &HTTPHandler{
		server:   s,
		o:        o,
		lookout:  newLookout(o.KeepAlive),
		rooms:    sync.Pool{New: func() any { return new([]byte) }},
		headers:  fixedHeaders{[]string{"application/json"}, []string{"text/event-stream"}, []string{"no-cache"}, []string{"no"}},
		sessions: make(map[string]*webSession),
		clients:  make(map[string]int),
	}
	h.strangers = s.newSession(silence{}, jsonrpc.Options{Strangers: true, Grace: untilTold})
	h.strangers.stranger = true
	h.strangers.conn.Open(context.Background())
	return h
}

// silence is the transport of what never says anything of its own accord.
type silence struct{}

func (silence) Send([]byte) error        { return errAnswered }
func (silence) Receive() ([]byte, error) { return nil, io.EOF }
func (silence) Close() error             { return nil }

// untilTold is the grace of connections whose end somebody else waits for, who has less of it.
const untilTold = 24 * time.Hour

// either is n, or what it means if it is zero or less.
func either[N int | int64 | time.Duration](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}

// clientOf is the identity of who makes a request, or the address.
func clientOf(r *http.Request) string {
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
func (h *HTTPHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		h.post(w, r)
	case http.MethodGet:
		h.get(w, r)
	case http.MethodDelete:
		h.delete(w, r)
	default:
		w.Header().Set("Allow", "POST, GET, DELETE")
		h.refuse(w, http.StatusMethodNotAllowed, jsonrpc.ID{}, jsonrpc.Errorf(jsonrpc.InvalidRequest, "messages come by POST, not by %s", short(r.Method)))
	}
}

// refuse answers a request of HTTP that is not served.
func (h *HTTPHandler) refuse(w http.ResponseWriter, status int, id jsonrpc.ID, e *jsonrpc.Error) {
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	h.write(w, status, jsonrpc.AppendError(nil, id, e))
}

// Shutdown ends all sessions and streams: calls in flight may finish until ctx ends, further ones are refused. It returns nil if
// all have finished, and the cause of ctx if they had to be told to.
func (h *HTTPHandler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	if h.closing.Load() {
		h.mu.Unlock()
		return errors.New("the server has been shut down already")
	}
	h.closing.Store(true)
	sessions := maps.Clone(h.sessions)
	h.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { h.strangers.conn.Close(ctx.Done()) })
	for _, s := range sessions {
		all.Go(func() { h.leave(s, ctx.Done()) })
	}
	all.Wait()
	for h.calls.Load() > 0 { // the last bytes of answers are on their way
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// errAnswered is what becomes of a message that belongs to an answered call.
var errAnswered = errors.New("the call has been answered")

// Suspend lets the client that waits for the call ctx belongs to go away and come back for the answer: its stream ends, and it asks for the rest of it
// after retry. A call that takes minutes keeps no connection open that way. It does nothing where that is
// not possible: over other transports, and in revisions other than 2025-11-25.
func Suspend(ctx context.Context, retry time.Duration) {
	c := CallFrom(ctx)
	if c == nil || c.web == nil || c.Session == nil || c.Revision < Revision20251125 {
		return
	}
	c.web.suspend(retry)
}
