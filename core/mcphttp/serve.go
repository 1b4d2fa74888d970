package web

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"time"
)

// Serve serves h until ctx ends. Then it stops accepting, lets calls in flight go on for a grace period, ends
// all streams and returns nil. Signals are the caller's.
func Serve(ctx context.Context, h Handler, o Options) error {
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
	d, err := newDoor(h, o, listener.Addr())
	if err != nil {
		return err
	}
	if err := checkOpen(listener.Addr(), o); err != nil {
		return err
	}
	room := make([]byte, headroom)
	defer runtime.KeepAlive(room)
	server := newHTTPServer(ctx, d, o)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(lazyListener{listener}) }()
	if o.Ready != nil {
		o.Ready(listener.Addr())
	}
	select {
	case err := <-failed:
		server.Close()
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	listener.Close()
	<-failed
	end(ctx, h, server, o)
	return nil
}

// headroom makes the heap count as so much larger than it is. Go collects garbage when the heap has doubled: in a small server that is
// busy every few milliseconds, which took up to a tenth of its time. Nothing is ever written to it, so that all it costs is
// the memory of garbage that waits for longer, about as much again.
const headroom = 4 << 20

// newHTTPServer is the server of net/http with all limits. The contexts of calls do not end with ctx: they have a grace.
func newHTTPServer(ctx context.Context, d *door, o Options) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      d,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true,
		MaxHeaderBytes:               o.MaxHeader,
		ReadHeaderTimeout:            o.HeaderTimeout,
		ReadTimeout:                  o.HeaderTimeout + o.BodyTimeout, // until the body has been read: see body
		IdleTimeout:                  o.Idle,
		ErrorLog:                     slog.NewLogLogger(o.Logger.Handler(), slog.LevelWarn),
		BaseContext:                  func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
}

// lastWords is how long, once all calls have ended, their last bytes may take, and requests that are only half there.
const lastWords = time.Second

// end lets what is in flight go on until the grace is over, and closes all connections.
func end(ctx context.Context, h Handler, server *http.Server, o Options) {
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	server.SetKeepAlivesEnabled(false)
	if err := h.Shutdown(grace); err != nil {
		o.Logger.Warn("calls were cut off at the end", "grace", o.Grace, "error", err)
	}
	last, cancel := context.WithTimeout(grace, lastWords)
	defer cancel()
	_ = server.Shutdown(last) // what is left then is closed
	server.Close()
}
