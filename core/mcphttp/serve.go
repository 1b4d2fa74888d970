package mcphttp

import (
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

// A Service is what [Serve] serves: a [Handler], or one that wraps it.
type Service interface {
	http.Handler

	// Shutdown refuses further calls. It returns when those in flight have ended, or with an error
	// when ctx has.
	Shutdown(ctx context.Context) error
}

// Serve serves h until ctx ends. Then it stops accepting connections, lets calls in flight go on
// for the grace period, ends all streams and returns nil. Its errors are an [*OptionError], an
// [*UnprotectedError], or those of package net. Signals are the caller's.
func Serve(ctx context.Context, h Service, o ServeOptions) error {
	o = o.WithDefaults()
	listener := o.Listener
	if listener == nil {
		if err := o.Check(); err != nil {
			return err
		}
		var err error
		if listener, err = Listen(ctx, o.Addr); err != nil {
			return err
		}
	}
	defer listener.Close()
	addr := listener.Addr()
	g, err := newGuard(h, o, addr)
	if err != nil {
		return err
	}
	if !IsLoopback(addr) && !o.BehindProxy && len(o.Gates) == 0 {
		return &UnprotectedError{addr.String()}
	}
	server := newHTTPServer(ctx, g, o)
	all := newConns(listener, o)
	defer close(all.ended)
	all.attach(server)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(all) }()
	if o.Ready != nil {
		o.Ready(addr)
	}
	select {
	case err := <-failed:
		server.Close()
		return fmt.Errorf("serve on %s: %w", addr, err)
	case <-ctx.Done():
	}
	listener.Close()
	<-failed
	shutDown(ctx, h, server, o)
	return nil
}

// newHTTPServer returns a server of net/http. It has no timeouts, see conns. The contexts of calls
// do not end with ctx: calls have a grace period.
func newHTTPServer(ctx context.Context, g *guard, o ServeOptions) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      g,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               o.MaxHeader,
		ErrorLog:                     slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// closeTimeout is how long, once all calls have ended, their last bytes and incomplete requests may
// take.
const closeTimeout = time.Second

// shutDown lets calls in flight go on for the grace period, and closes all connections.
func shutDown(ctx context.Context, h Service, server *http.Server, o ServeOptions) {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	server.SetKeepAlivesEnabled(false)
	if err := h.Shutdown(grace); err != nil {
		o.Logger.Warn("calls were cancelled at the end", "grace", o.Grace, "error", err)
	}
	last, cancel := context.WithTimeout(grace, closeTimeout)
	defer cancel()
	_ = server.Shutdown(last)
	server.Close()
}

// ServeOptions configure [Serve]. The zero value serves this machine alone, at 127.0.0.1:8181/mcp.
type ServeOptions struct {
	Addr     string                  // where to listen (default [DefaultAddr])
	Listener net.Listener            // used instead of Addr, see [Listen]
	Path     string                  // of the handler (default /mcp)
	Extra    map[string]http.Handler // handlers of other paths, without authentication; paths must match exactly
	Health   bool                    // serve /healthz, without authentication

	Gates       []auth.Gate // authenticate callers, in order; none accepts everyone
	BehindProxy bool        // a proxy handles TLS and authentication: allow any address, even without gates

	Origins []string // further origins whose pages may call, such as https://app.example.com; "*" for all
	Hosts   []string // further host names, with a port or for any port; see the package documentation

	// MaxConns limits the connections. At the limit, a new one displaces the one that has waited
	// for its client for the longest time. If none waits, requests over further connections get
	// status 503, except for health checks (default 512).
	MaxConns int

	MaxHeader     int           // the size limit of a header, in bytes (default 64 KiB)
	HeaderTimeout time.Duration // for reading a header (default 10 seconds)
	BodyTimeout   time.Duration // for reading a body (default 30 seconds)
	WriteTimeout  time.Duration // for a client to accept a part of a response (default 30 seconds)
	Idle          time.Duration // how long an idle connection is kept (default 2 minutes)
	Grace         time.Duration // for calls in flight at the end (default 10 seconds)

	// Remedy returns advice for the operator of the server, such as a flag that would allow a
	// request. It is appended to the message of a refused request. err is a [*HostError],
	// [*OriginError] or [*PathError]. nil gives none.
	Remedy func(err error) string

	Logger *slog.Logger        // gets errors and, at level info, refused requests (default: discards)
	Ready  func(addr net.Addr) // called when the server listens
}

// DefaultAddr is the default address of [Listen] and [Serve].
const DefaultAddr = "127.0.0.1:8181"

// HealthPath is where [Serve] reports its health, if [ServeOptions].Health is set.
const HealthPath = "/healthz"

// An OptionError says that a field of [ServeOptions] has an invalid value.
type OptionError struct {
	Option string // the name of the field, such as "Hosts"
	Value  string
	Reason string // such as "must be host:port"
}

func (e *OptionError) Error() string {
	return fmt.Sprintf("invalid %s %q: %s", e.Option, e.Value, e.Reason)
}

// A HostError says that a request was refused because of its Host header.
type HostError struct{ Host string }

func (e *HostError) Error() string { return fmt.Sprintf("host %q is not allowed", clip(e.Host)) }

// An OriginError says that a request was refused because of its Origin header.
type OriginError struct{ Origin string }

func (e *OriginError) Error() string { return fmt.Sprintf("origin %q is not allowed", clip(e.Origin)) }

// A PathError says that a request was refused because of its path.
type PathError struct{ Path, Endpoint string }

func (e *PathError) Error() string {
	return fmt.Sprintf("%s does not exist; the endpoint is %s", clip(e.Path), e.Endpoint)
}

// An UnprotectedError says that [Serve] refused to listen for other machines without
// authentication: set Gates or BehindProxy, or listen on a loopback address.
type UnprotectedError struct{ Addr string }

func (e *UnprotectedError) Error() string {
	return fmt.Sprintf("listen on %s: other machines could connect without authentication", e.Addr)
}

// Check returns an [*OptionError] for options that Serve would refuse before it listens.
func (o ServeOptions) Check() error {
	_, err := newGuard(nil, o.WithDefaults(), nil)
	return err
}

// WithDefaults returns o with the defaults of all fields that are not set.
func (o ServeOptions) WithDefaults() ServeOptions {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if o.MaxHeader == 0 {
		o.MaxHeader = 64 << 10
	}
	if o.MaxConns == 0 {
		o.MaxConns = 512
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Remedy == nil {
		o.Remedy = func(error) string { return "" }
	}
	if o.HeaderTimeout == 0 {
		o.HeaderTimeout = 10 * time.Second
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = 30 * time.Second
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = 30 * time.Second
	}
	if o.Idle == 0 {
		o.Idle = 2 * time.Minute
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	return o
}

func (o ServeOptions) check() error {
	for name, n := range map[string]int{"MaxHeader": o.MaxHeader, "MaxConns": o.MaxConns} {
		if n < 0 {
			return &OptionError{name, strconv.Itoa(n), "must not be negative"}
		}
	}
	for name, d := range map[string]time.Duration{"HeaderTimeout": o.HeaderTimeout, "BodyTimeout": o.BodyTimeout, "WriteTimeout": o.WriteTimeout, "Idle": o.Idle, "Grace": o.Grace} {
		if d < 0 {
			return &OptionError{name, d.String(), "must not be negative"}
		}
	}
	if _, port, err := net.SplitHostPort(o.Addr); err != nil || port == "" {
		return &OptionError{"Addr", o.Addr, "must be host:port, such as " + DefaultAddr}
	} else if n, err := strconv.Atoi(port); n < 0 || n > 65535 || errors.Is(err, strconv.ErrRange) {
		return &OptionError{"Addr", o.Addr, "the port must be from 0 to 65535, such as " + DefaultAddr}
	}
	if !strings.HasPrefix(o.Path, "/") {
		return &OptionError{"Path", o.Path, "must begin with /"}
	}
	if o.Health && o.Path == HealthPath {
		return &OptionError{"Path", o.Path, "is the path of the health check"}
	}
	for path := range o.Extra {
		if !strings.HasPrefix(path, "/") {
			return &OptionError{"Extra", path, "must begin with /"}
		}
		if path == o.Path || o.Health && path == HealthPath {
			return &OptionError{"Extra", path, "is the path of another handler"}
		}
	}
	return nil
}

// Listen listens on a TCP address such as 127.0.0.1:8181, or on a free port if the port is 0. If a
// host name has several addresses, Listen uses one of them. "" means [DefaultAddr]; package net
// would listen on every address.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	if addr == "" {
		addr = DefaultAddr
	}
	to, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp " + addr, Err: err}
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", to.String())
}

// IsLoopback reports whether only programs on this machine can connect to addr.
func IsLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// ForwardedClient identifies the clients of a server behind a proxy, see [Options].Client: by the
// identity of the caller, or else by the last address in X-Forwarded-For, which the proxy appended.
// Clients may forge the addresses before it.
func ForwardedClient(r *http.Request) string {
	if id := auth.From(r.Context()); id != nil {
		return id.Principal()
	}
	lines := r.Header["X-Forwarded-For"]
	if len(lines) == 0 {
		return ""
	}
	line := lines[len(lines)-1]
	return strings.TrimSpace(line[strings.LastIndexByte(line, ',')+1:])
}
