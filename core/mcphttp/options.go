package web

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

// A Handler is what is served, such as an mcp.HTTPHandler.
type Handler interface {
	http.Handler

	// Shutdown refuses further calls, and returns when those in flight have ended, or with an error when ctx has.
	Shutdown(ctx context.Context) error
}

// Options are the choices for [Serve]. The zero value serves this machine alone, at 127.0.0.1:8181/mcp.
type Options struct {
	Addr     string                  // where to listen; "" means 127.0.0.1:8181
	Listener net.Listener            // what to listen with instead, as [Listen] returns it
	Path     string                  // where the handler is; "" means /mcp
	Extra    map[string]http.Handler // what is at other paths, for everybody; a path is matched exactly
	Health   bool                    // whether /healthz says that the server is there, to everybody

	Gates       []auth.Gate // who may come in, asked in order; none means everybody
	InFront     bool        // TLS and identity are handled in front: listen anywhere, without gates too
	KeyVariable string      // the environment variable for keys, to name where one is missing
	FrontFlag   string      // the flag for InFront, to name where it is missing
	Ways        []string    // further ways to have a gate, to name where there is none, such as "name the issuer with --oauth-issuer"

	OriginFlag, HostFlag, HealthFlag string // the flags for Origins, Hosts and Health, to name where something is refused

	Origins []string // further origins whose pages may call, such as https://app.example.com; "*" means all
	Hosts   []string // further names that a server on a loopback address may be called by, and one without gates by its own pages; without a port, with any

	MaxHeader     int           // the largest header, in bytes; 0 means 64 KiB
	HeaderTimeout time.Duration // how long a header may take; 0 means 10 seconds
	BodyTimeout   time.Duration // and a body after it; 0 means 30 seconds
	Idle          time.Duration // how long a connection without requests is kept; 0 means 2 minutes
	Grace         time.Duration // how long calls in flight may go on at the end; 0 means 10 seconds

	Logger *slog.Logger        // where it says what goes wrong, and requests at the level debug; nil means nowhere
	Ready  func(addr net.Addr) // called when it listens
}

// DefaultAddr is where a server listens that is not told.
const DefaultAddr = "127.0.0.1:8181"

// healthPath is where a server says that it is there.
const healthPath = "/healthz"

// maxPort is the highest port there is.
const maxPort = 1<<16 - 1

// Check says what is wrong with the options, as far as it can be told before listening.
func (o Options) Check() error {
	_, err := newDoor(nil, o.withDefaults(), nil)
	return err
}

// withDefaults returns the options with all that was left out.
func (o Options) withDefaults() Options {
	if o.Addr == "" {
		o.Addr = DefaultAddr
	}
	if o.Path == "" {
		o.Path = "/mcp"
	}
	if o.MaxHeader == 0 {
		o.MaxHeader = 64 << 10
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for _, d := range []struct {
		value *time.Duration
		usual time.Duration
	}{
		{&o.HeaderTimeout, 10 * time.Second},
		{&o.BodyTimeout, 30 * time.Second},
		{&o.Idle, 2 * time.Minute},
		{&o.Grace, 10 * time.Second},
	} {
		if *d.value == 0 {
			*d.value = d.usual
		}
	}
	return o
}

// checkPlain says what is wrong with the address, the paths, sizes and times of options.
func (o Options) checkPlain() error {
	if o.MaxHeader < 0 || o.HeaderTimeout < 0 || o.BodyTimeout < 0 || o.Idle < 0 || o.Grace < 0 {
		return errors.New("sizes and times cannot be negative; leave them out for what is usual")
	}
	_, port, err := net.SplitHostPort(o.Addr)
	if err != nil || port == "" {
		return fmt.Errorf("the address %q is not of the form host:port; an example is %s", o.Addr, DefaultAddr)
	}
	if n, err := strconv.Atoi(port); n < 0 || n > maxPort || errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("the port of the address %q is not one from 0 to %d; an example is %s", o.Addr, maxPort, DefaultAddr)
	}
	taken := map[string]bool{o.Path: true}
	if o.Health {
		if taken[healthPath] {
			return fmt.Errorf("the path %s is that of health; choose another", healthPath)
		}
		taken[healthPath] = true
	}
	if !strings.HasPrefix(o.Path, "/") {
		return fmt.Errorf("the path %q does not begin with /", o.Path)
	}
	for path := range o.Extra {
		if taken[path] || !strings.HasPrefix(path, "/") {
			return fmt.Errorf("the page %q has no path of its own that begins with /", path)
		}
	}
	return nil
}
