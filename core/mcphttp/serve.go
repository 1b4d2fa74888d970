package mcphttp

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// A Service is what [Serve] serves: a [Handler], or one that wraps it.
type Service interface {
	http.Handler

	// Shutdown refuses further calls. It returns when those in flight have ended, or with an error when ctx has.
	Shutdown(ctx context.Context) error
}

// Serve serves h until ctx ends. Then it stops accepting connections, lets calls in flight go on for the grace period,
// ends all streams and returns nil. Its errors are an [*OptionError], an [*UnprotectedError], or those of package net.
// Signals are the caller's.
func Serve(ctx context.Context, h Service, o ServeOptions) error {
	o = o.withDefaults()
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
		return &UnprotectedError{o.Addr}
	}
	server := newHTTPServer(ctx, g, o)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
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

// newHTTPServer returns a server of net/http with all limits. The contexts of calls do not end with ctx: calls have a
// grace period.
func newHTTPServer(ctx context.Context, g *guard, o ServeOptions) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      g,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               o.MaxHeader,
		ReadHeaderTimeout:            o.HeaderTimeout,
		ReadTimeout:                  o.HeaderTimeout + o.BodyTimeout, // until the body has been read, see clearReadDeadline
		IdleTimeout:                  o.Idle,
		ErrorLog:                     slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// closeTimeout is how long, once all calls have ended, their last bytes and incomplete requests may take.
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
