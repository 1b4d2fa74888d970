package posting

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// MaxBody is how large the body of a request may be. A larger one may have to be read by the server while it answers, which takes
// two goroutines.
const MaxBody = 64 << 10

const (
	maxIdle    = 256              // connections that wait for the next request
	idleFor    = 90 * time.Second // at most
	sweepAfter = 15 * time.Second // are those that wait looked after
	maxHeader  = 1 << 20          // bytes of the header of a response, and of those before it
)

// A Transport posts requests. It is for http addresses, without proxies, and for bodies whose length is known and at most [MaxBody]. As that
// of net/http does, it never sends a request twice that a server may have seen.
type Transport struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)

	mu       sync.Mutex
	idle     []*conn     // the one that was used last is the last
	sweeping *time.Timer // nil if nothing waits
	closed   bool
}

// New returns a transport that connects with dial.
func New(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Transport {
	return &Transport{dial: dial}
}

// RoundTrip implements [http.RoundTripper]. The body of the response ends with the context of the request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if req.URL.Scheme != "http" || req.ContentLength < 0 || req.ContentLength > MaxBody {
		return nil, fmt.Errorf("a request to %s with a body of %d bytes cannot be posted like this", req.URL.Scheme, req.ContentLength)
	}
	ctx := req.Context()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c, err := t.connect(ctx, req)
	if err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	c.stop = context.AfterFunc(ctx, c.interrupt)
	resp, err := c.exchange(req)
	if err != nil {
		c.stop()
		c.Close()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	b := &body{from: resp.Body, ctx: ctx, t: t, c: c, reusable: !resp.Close && resp.StatusCode != http.StatusSwitchingProtocols}
	if resp.Body == http.NoBody {
		b.end(true)
	} else {
		resp.Body = b
	}
	return resp, nil
}

// connect takes a connection that waits, or makes another.
func (t *Transport) connect(ctx context.Context, req *http.Request) (*conn, error) {
	address := req.URL.Host
	if req.URL.Port() == "" {
		address = net.JoinHostPort(req.URL.Hostname(), "80")
	}
	if c := t.take(address); c != nil {
		return c, nil
	}
	plain, err := t.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: plain, address: address}
	c.in, c.out = bufio.NewReader(c), bufio.NewWriter(plain)
	return c, nil
}

// take takes the connection to an address that was used last, if it is still good.
func (t *Transport) take(address string) *conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.idle) - 1; i >= 0; i-- {
		c := t.idle[i]
		if c.address != address {
			continue
		}
		t.idle = slices.Delete(t.idle, i, i+1)
		if time.Since(c.since) < idleFor && silent(c.Conn) {
			return c
		}
		c.Close()
	}
	return nil
}

// release keeps a connection for the next request, in place of the oldest if there are many.
func (t *Transport) release(c *conn) {
	c.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		c.Close()
		return
	}
	if len(t.idle) >= maxIdle {
		t.idle[0].Close()
		t.idle = t.idle[1:]
	}
	t.idle = append(t.idle, c)
	if t.sweeping == nil {
		t.sweeping = time.AfterFunc(sweepAfter, func() { t.sweep(time.Now()) })
	}
}

// sweep closes the connections that have waited for long at a time, and those that the other end has closed.
func (t *Transport) sweep(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.idle = slices.DeleteFunc(t.idle, func(c *conn) bool {
		if now.Sub(c.since) < idleFor && silent(c.Conn) {
			return false
		}
		c.Close()
		return true
	})
	switch {
	case t.sweeping == nil:
	case len(t.idle) > 0:
		t.sweeping.Reset(sweepAfter)
	default:
		t.sweeping = nil
	}
}

// CloseIdleConnections closes all connections that wait, and from then on those that would.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, c := range t.idle {
		c.Close()
	}
	t.idle = nil
	if t.sweeping != nil {
		t.sweeping.Stop()
		t.sweeping = nil
	}
}

// A conn is a connection with at most one request on it.
type conn struct {
	net.Conn
	address string
	in      *bufio.Reader // of the conn itself
	out     *bufio.Writer
	since   time.Time   // it waits
	stop    func() bool // no longer interrupts it when a context ends
	limited bool        // only left bytes more may be read
	left    int
}

// Read reads no more than the header of a response may have, while that is read.
func (c *conn) Read(p []byte) (int, error) {
	if !c.limited {
		return c.Conn.Read(p)
	}
	if c.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// interrupt ends whatever goes on. Not all connections that somebody dials have deadlines.
func (c *conn) interrupt() { c.Close() }

// exchange writes a request and reads the header of the response.
func (c *conn) exchange(req *http.Request) (*http.Response, error) {
	written := req.Write(c.out)
	if written == nil {
		written = c.out.Flush()
	}
	// A server that does not want to read everything has answered before it closed the connection.
	if broken := (*net.OpError)(nil); written != nil && !errors.As(written, &broken) {
		return nil, written
	}
	c.limited, c.left = true, maxHeader
	defer func() { c.limited = false }()
	for {
		resp, err := http.ReadResponse(c.in, req)
		switch {
		case err == nil:
		case c.left <= 0:
			return nil, fmt.Errorf("the header of its answer is larger than %d bytes", maxHeader)
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil, cmp.Or(written, fmt.Errorf("the connection ended before the answer: %w", err))
		default:
			return nil, cmp.Or(written, err)
		}
		resp.Close = resp.Close || written != nil
		if resp.StatusCode >= 200 || resp.StatusCode == http.StatusSwitchingProtocols {
			return resp, nil
		}
	}
}
