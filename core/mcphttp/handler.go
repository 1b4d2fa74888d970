// Package mcphttp serves MCP over streamable HTTP.
//
//	handler := mcphttp.NewHandler(server, mcphttp.Options{})
//	err := mcphttp.Serve(ctx, handler, mcphttp.ServeOptions{Addr: "127.0.0.1:8181"})
//
// A [Handler] is an [http.Handler] for an [mcp.Server]. It works under any path of any
// [http.Server]: of your own program, of package httptest, over TCP or a Unix socket. It checks
// Host and Origin, limits what each client may use, and keeps sessions and streams. It does not
// authenticate callers, and leaves connections to the server.
//
// [Serve] is such a server, with authentication, health checks, limits for connections and an
// orderly shutdown. It checks each request before the handler gets it, in this order: Host and
// Origin (403), the limit of connections (503), path (404), credentials (401).
//
// # Hosts and origins
//
// On a loopback address, any web page can make a browser on the same machine send requests, even
// under the page's own host name (DNS rebinding). Therefore Host and Origin must be names of this
// machine, or be listed in the options. On other addresses any Host is accepted. An Origin must be
// listed, or be the origin of the Host; without gates, that Host must be listed or name this
// machine. Accepted origins get CORS headers. Cookies are not used.
//
// # Connections
//
// To listen on an address that other machines can connect to, Serve requires a gate, or a proxy
// that handles TLS and authentication. Serve speaks HTTP/1.1 without TLS. If a request header is
// too large, the client gets status 431; if it arrives too slowly, the connection is closed. If a
// body arrives too slowly, the client gets status 408 (handlers of other paths get
// [os.ErrDeadlineExceeded]). A client that reads a response too slowly is disconnected. Calls have
// no timeout.
package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/peer"
	"github.com/petrock/petrock/core/plumbing/transport"
)

// Options configure a [Handler]. The zero value has good defaults.
type Options struct {
	MaxBody     int64 // size limit of a message, in bytes (default: MaxMessage of the server)
	MaxSessions int   // maximum number of sessions (default 10,000)
	MaxCalls    int   // maximum number of requests in flight (default 1,000)
	MaxStreams  int   // maximum number of streams that clients listen to (default 400)

	// MaxMemory limits the bytes held for clients: messages in flight, subscriptions, and events
	// kept for clients that reconnect (default 64 MiB, or more if MaxBody is larger). At the limit,
	// these events are dropped first. A response that still does not fit is replaced by an error.
	MaxMemory int64

	// ClientShare is the percentage of each limit that one client may use (default 25). A client
	// above its share gets status 429. If the server is at its limit, any client gets 503. Both
	// mean that the request has not been executed, and have a Retry-After header.
	ClientShare int

	SessionIdle time.Duration // idle timeout of a session (default 30 minutes)

	// ReplayBuffer limits the bytes that a session keeps for a client that reconnects or reads
	// slowly (default 256 KiB).
	ReplayBuffer int64

	// KeepAlive is the interval of SSE comments on a stream without events. A call that takes
	// longer than KeepAlive is answered with a stream (default 15 seconds).
	KeepAlive time.Duration

	// WriteTimeout is how long a client may take to read a part of a stream or of a large response
	// (default 30 seconds). [ServeOptions].WriteTimeout applies to all responses.
	WriteTimeout time.Duration

	// Started reports whether the server can answer calls. Until it does, they get status 503 with
	// a Retry-After header, and sessions do not exist (default: always).
	Started func() bool

	// Challenge returns the WWW-Authenticate header for a caller that lacks scopes; nil sends none.
	Challenge func(scopes []string) string

	// Origins are more origins whose pages may call, such as https://app.example.com, or "*" for
	// all. See the package documentation.
	Origins []string

	// Hosts are more names that clients may use for the server, with a port or for any port. If one
	// of Origins or Hosts is invalid, Serve fails, and without Serve every request is refused.
	Hosts []string

	SameOrigin bool // refuse the pages of other ports of this machine too, unless Origins has them

	// Client identifies the client of a request whose caller is not authenticated, for ClientShare
	// (default: the remote address, which is the same for all clients of a Unix socket). Behind a
	// proxy, use [ForwardedClient].
	Client func(r *http.Request) string
}

// A Handler serves MCP over streamable HTTP, in every revision, at any path. It does not
// authenticate callers. If requests have an [auth.Identity] in their context, only the identity
// that started a session can use it.
type Handler struct {
	open      func(send func(msg []byte) error) Session
	log       *slog.Logger
	o         Options
	stateless Session   // for requests without a session
	scratch   sync.Pool // of *scratch
	closing   atomic.Bool

	origins *originPolicy

	sessionQuota, callQuota, streamQuota, memoryQuota *quota

	mu       sync.Mutex
	sessions map[string]*session
	sweeping bool
}

// NewHandler returns a handler that serves s until [Handler.Shutdown].
func NewHandler(s *mcp.Server, o Options) *Handler {
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), int64(s.MaxMessage()))
	return NewProxy(func(send func(msg []byte) error) Session {
		if send == nil {
			return s.NewStatelessSession()
		}
		return s.NewSession(send)
	}, s.CallLog(), o)
}

// A Session handles the messages of a client. Its methods are those of [mcp.Session].
type Session interface {
	Receive(ctx context.Context, r *peer.Request, x transport.Exchange)
	Revision() mcp.Revision // "" until the session is initialized
	Close(skipGrace <-chan struct{})
}

// NewProxy returns a handler whose sessions come from open instead of an [mcp.Server]. send is as
// in [mcp.Server.NewSession]; it is nil for the one session that gets all requests without a
// session. log gets refused requests.
func NewProxy(open func(send func(msg []byte) error) Session, log *slog.Logger, o Options) *Handler {
	o = o.WithDefaults()
	return &Handler{
		origins:      newOriginPolicy(o),
		open:         open,
		log:          log,
		o:            o,
		stateless:    open(nil),
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
	o.MaxBody = cmp.Or(max(o.MaxBody, 0), jsonrpc.DefaultMaxMessage)
	o.MaxSessions = cmp.Or(max(o.MaxSessions, 0), 10_000)
	o.MaxCalls = cmp.Or(max(o.MaxCalls, 0), 1_000)
	o.MaxStreams = cmp.Or(max(o.MaxStreams, 0), 400)
	o.MaxMemory = cmp.Or(max(o.MaxMemory, 0), max(64<<20, 4*o.MaxBody))
	o.ClientShare = cmp.Or(max(o.ClientShare, 0), 25)
	o.SessionIdle = cmp.Or(max(o.SessionIdle, 0), 30*time.Minute)
	o.ReplayBuffer = cmp.Or(max(o.ReplayBuffer, 0), 256<<10)
	o.KeepAlive = cmp.Or(max(o.KeepAlive, 0), 15*time.Second)
	o.WriteTimeout = cmp.Or(max(o.WriteTimeout, 0), 30*time.Second)
	return o
}

// Check returns an [*OptionError] if Origins or Hosts are invalid.
func (o Options) Check() error { return newOriginPolicy(o).err }

func newOriginPolicy(o Options) *originPolicy {
	p := &originPolicy{
		hosts:      map[string]bool{"localhost": true, "127.0.0.1": true, "[::1]": true},
		listed:     map[string]bool{},
		sameOrigin: o.SameOrigin,
	}
	for _, host := range o.Hosts {
		name, ok := withoutPort(host)
		if !ok || strings.ContainsAny(name, "/?#@ *") {
			p.err = &OptionError{"Hosts", host, "must be a name or address, with or without a port, such as mcp.example.com or 192.168.1.5:8181"}
		}
		p.hosts[strings.ToLower(host)] = true
	}
	for _, origin := range o.Origins {
		u, err := url.Parse(origin)
		isOrigin := err == nil && u.Scheme != "" && u.Host != "" && strings.EqualFold(u.Scheme+"://"+u.Host, origin)
		if origin != "*" && origin != "null" && !isOrigin {
			p.err = &OptionError{"Origins", origin, "must be a scheme and a host, with or without a port, such as https://app.example.com or http://localhost:5173"}
		}
		p.listed[withoutDefaultPort(strings.ToLower(origin))] = true
	}
	return p
}

// An OptionError means that a field of [Options] or [ServeOptions] has an invalid value.
type OptionError struct {
	Option string // the name of the field, such as "Hosts"
	Value  string
	Reason string // such as "must be host:port"
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("invalid %s %q: %s", e.Option, e.Value, e.Reason)
}

// identify returns the principal of a request, which owns the sessions that it starts, and its
// client, for quotas. The principal is "" if callers are not authenticated.
func (h *Handler) identify(r *http.Request) (principal, client string) {
	if id := auth.From(r.Context()); id != nil {
		principal = id.Principal()
		return principal, principal
	}
	if h.o.Client != nil {
		return "", h.o.Client(r)
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	return "", cmp.Or(host, r.RemoteAddr)
}

// A refusal is why a request is not served. Nil means that it has been.
type refusal struct {
	status int
	id     jsonrpc.ID // of the message; zero if it has none, or is not known
	err    *jsonrpc.Error
}

// invalid returns the refusal of an invalid request.
func invalid(status int, id jsonrpc.ID, format string, args ...any) *refusal {
	return &refusal{status, id, jsonrpc.Errorf(jsonrpc.InvalidRequest, format, args...)}
}

// overLimit returns the refusal for a [*limitError].
func overLimit(id jsonrpc.ID, err error) *refusal {
	limit, _ := errors.AsType[*limitError](err)
	forClient, _ := errors.AsType[*jsonrpc.Error](err)
	return &refusal{limit.status, id, forClient}
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, why *refusal) {
	_, client := h.identify(r)
	refuse(h.log, w, r, client, why)
}

// refuse answers and logs a request that is refused before it becomes a call.
func refuse(log *slog.Logger, w http.ResponseWriter, r *http.Request, client string, why *refusal) {
	if why.status == http.StatusServiceUnavailable || why.status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	log.Info("refused", "method", r.Method, "path", clip(r.URL.Path), "status", why.status, "error", clip(why.err.Message), "caller", callerOf(r, cmp.Or(client, r.RemoteAddr)))
	w.Header()["Content-Type"] = jsonContentType
	w.WriteHeader(why.status)
	_, _ = w.Write(jsonrpc.AppendError(nil, why.id, why.err))
}

// callerOf returns the caller of a request for the log: its identity, or fallback if it has none.
func callerOf(r *http.Request, fallback string) string {
	if id := auth.From(r.Context()); id != nil {
		fallback = id.Actor()
	}
	return clip(fallback)
}

// jsonContentType is shared by all responses, which saves an allocation for each.
var jsonContentType = []string{"application/json"}
