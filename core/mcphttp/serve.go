package mcphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/auth"
)

// Serve listens, and serves h until ctx ends. Then it is not ready, but serves for the drain
// period. Then it stops accepting connections, waits for calls in flight until the grace period
// since the end of ctx is over, ends all streams and returns nil. Its errors are an [*OptionError],
// an [*UnprotectedError], or an error of package net. Serve does not handle signals.
//
// Unlike an [http.Server] of your own, Serve authenticates callers, limits connections, and
// disconnects slow clients.
func Serve(ctx context.Context, h *Handler, o ServeOptions) error {
	return serve(ctx, service{http.HandlerFunc(h.serveAdmitted), h.Shutdown, h.origins}, o)
}

// A service is what Serve serves: a handler of requests that the guard has admitted.
type service struct {
	http.Handler
	shutdown func(ctx context.Context) error
	origins  *originPolicy
}

func serve(ctx context.Context, s service, o ServeOptions) error {
	defer o.close()
	if err := cmp.Or(s.origins.err, o.Check()); err != nil {
		return err
	}
	o = o.WithDefaults()
	if o.Listener == nil {
		var err error
		if o.Listener, err = Listen(ctx, o.Addr); err != nil {
			return err
		}
		defer o.close()
		if err := o.Check(); err != nil {
			return err
		}
	}
	g := &guard{ServeOptions: o, service: s, at: site{o.Listener.Addr(), len(o.Gates) > 0}}
	server := newHTTPServer(ctx, g, o)
	all := newConns(o.Listener, o)
	defer close(all.done)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(all) }()
	if o.Ready != nil {
		o.Ready(g.at.addr)
	}
	select {
	case err := <-failed:
		server.Close()
		return fmt.Errorf("serve on %s: %w", g.at.addr, err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	g.draining.Store(true)
	o.Logger.Info("stopping", "drain", o.Drain, "grace", o.Grace)
	select {
	case err := <-failed:
		o.Logger.Warn("drain period ended early", "error", err)
	case <-time.After(min(o.Drain, o.Grace)):
		o.close()
		<-failed
	}
	shutDown(grace, s, server, o)
	return nil
}

// newHTTPServer returns a server for conns, which enforces the timeouts. The contexts of calls do
// not end with ctx, because calls have a grace period.
func newHTTPServer(ctx context.Context, g *guard, o ServeOptions) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      g,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               int(o.MaxHeader),
		ErrorLog:                     slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
		ConnContext:                  func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },
		ConnState:                    setState,
	}
}

// shutDown waits for calls in flight until grace ends, then closes all connections.
func shutDown(grace context.Context, s service, server *http.Server, o ServeOptions) {
	server.SetKeepAlivesEnabled(false)
	if err := s.shutdown(grace); err != nil {
		o.Logger.Warn("calls cancelled: grace period over", "grace", o.Grace, "error", err)
	}
	// Allow one more second to write the last responses.
	last, cancel := context.WithTimeout(context.WithoutCancel(grace), time.Second)
	defer cancel()
	_ = server.Shutdown(last)
	server.Close()
}

// ServeOptions configure [Serve]. The zero value serves only this machine, at 127.0.0.1:8181/mcp.
// Limits and times that are not positive have their defaults.
type ServeOptions struct {
	Addr     string                  // TCP address to listen on (default [DefaultAddr])
	Listener net.Listener            // instead of Addr, such as a Unix socket; Serve closes it
	Path     string                  // path of the handler (default /mcp)
	Extra    map[string]http.Handler // handlers of other, exact paths, without authentication
	Health   bool                    // serve /healthz and /readyz too, without authentication

	// Readiness returns why the server cannot answer calls, for /readyz, and which calls it cannot
	// answer while it answers others. Everyone can read the reasons. It must not block. Optional.
	Readiness func() (unready, degraded []string)

	Gates       []auth.Gate // authenticate callers, in order; without gates all are accepted
	BehindProxy bool        // a proxy handles TLS and authentication; allows any address

	// MaxConns limits the connections (default 512). At the limit, a new connection replaces one
	// that waits for its client, idle ones before active ones. If none waits, requests over new
	// connections get status 503, except for health checks.
	MaxConns int

	MaxHeader     int64         // size limit of a request header, in bytes (default 64 KiB)
	HeaderTimeout time.Duration // for reading a request header (default 10 seconds)
	BodyTimeout   time.Duration // for reading a request body (default 30 seconds)
	WriteTimeout  time.Duration // for a client to read a part of a response (default 30 seconds)
	Idle          time.Duration // idle timeout of a connection (default 2 minutes)
	Grace         time.Duration // for calls in flight at shutdown, and Drain (default 10 seconds)

	// Drain is how long the server continues to serve at shutdown, so that load balancers find out
	// that it is not ready. Meanwhile it closes each connection after a response (default 0).
	Drain time.Duration

	// Remedy returns how to allow a request that was refused for lack of an option: Hosts, Origins
	// or Health. Serve appends it to the error message. Optional.
	Remedy func(option string) string

	Logger *slog.Logger        // gets errors and, at level info, refused requests (default: none)
	Ready  func(addr net.Addr) // called when the server listens
}

// DefaultAddr is the default address of [Listen] and [Serve].
const DefaultAddr = "127.0.0.1:8181"

// HealthPath and ReadyPath are the paths of health checks, see [ServeOptions].Health. HealthPath
// has status 200 as long as the process answers, and ReadyPath only if the server can answer calls.
// With the query "strict", it also must not be degraded.
const (
	HealthPath = "/healthz"
	ReadyPath  = "/readyz"
)

// An UnprotectedError means that [Serve] would accept other machines without authentication. To
// avoid it, set Gates or BehindProxy, or listen on a loopback address.
type UnprotectedError struct{ Addr string }

func (e *UnprotectedError) Error() string {
	return fmt.Sprintf("listen on %s: other machines could connect without authentication", e.Addr)
}

// Check returns an [*OptionError] or, for the Listener, an [*UnprotectedError] if Serve would
// refuse the options.
func (o ServeOptions) Check() error {
	o = o.WithDefaults()
	_, port, err := net.SplitHostPort(o.Addr)
	n, portErr := strconv.Atoi(port)
	switch {
	case err != nil || port == "" || n < 0 || n > 65535 || errors.Is(portErr, strconv.ErrRange):
		return &OptionError{"Addr", o.Addr, "must be host:port, and the port must be from 0 to 65535, such as " + DefaultAddr}
	case !strings.HasPrefix(o.Path, "/"):
		return &OptionError{"Path", o.Path, "must begin with /"}
	case o.Listener != nil && !o.BehindProxy && len(o.Gates) == 0 && !IsLocal(o.Listener.Addr()):
		return &UnprotectedError{o.Listener.Addr().String()}
	}
	return nil
}

func (o ServeOptions) close() {
	if o.Listener != nil {
		_ = o.Listener.Close()
	}
}

// WithDefaults returns o with defaults for all fields that are not set.
func (o ServeOptions) WithDefaults() ServeOptions {
	o.Addr = cmp.Or(o.Addr, DefaultAddr)
	o.Path = cmp.Or(o.Path, "/mcp")
	o.MaxHeader = cmp.Or(max(o.MaxHeader, 0), 64<<10)
	o.MaxConns = cmp.Or(max(o.MaxConns, 0), 512)
	o.HeaderTimeout = cmp.Or(max(o.HeaderTimeout, 0), 10*time.Second)
	o.BodyTimeout = cmp.Or(max(o.BodyTimeout, 0), 30*time.Second)
	o.WriteTimeout = cmp.Or(max(o.WriteTimeout, 0), 30*time.Second)
	o.Idle = cmp.Or(max(o.Idle, 0), 2*time.Minute)
	o.Grace = cmp.Or(max(o.Grace, 0), 10*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Readiness == nil {
		o.Readiness = func() (_, _ []string) { return nil, nil }
	}
	return o
}

// Listen listens on a TCP address such as 127.0.0.1:8181, or on a free port if the port is 0. If a
// host name has several addresses, Listen uses one of them. Unlike in package net, "" means
// [DefaultAddr].
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", cmp.Or(addr, DefaultAddr))
}

// IsLocal reports whether only programs on this machine can connect to addr: whether it is a
// loopback address or a Unix socket.
func IsLocal(addr net.Addr) bool {
	_, isUnix := addr.(*net.UnixAddr)
	return isUnix || loopbackIP(addr) != nil
}

// ForwardedClient returns the last address in X-Forwarded-For, which the proxy in front of the
// server appended. It is for [Options].Client. Clients can forge the addresses before it.
func ForwardedClient(r *http.Request) string {
	all := strings.Join(r.Header["X-Forwarded-For"], ",")
	return strings.TrimSpace(all[strings.LastIndexByte(all, ',')+1:])
}
