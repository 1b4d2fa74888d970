package mcphttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conns is a listener that knows its connections. It limits their number, and ends those whose
// clients are slow: each connection notes what it waits for and since when, and a sweep looks at
// all of them once a second. Unlike deadlines, that costs a request next to nothing, and covers
// every state of a connection.
type conns struct {
	net.Listener
	o     ServeOptions
	began time.Time // times are nanoseconds since then, so that changes of the clock do not matter
	ended chan struct{}

	mu   sync.Mutex
	open map[*conn]struct{}
}

// spareConns is how many connections there may be above the limit, for health checks alone.
const spareConns = 16

// readBuffer is how many bytes the system keeps of what a client sends before it is read. The
// default grows to several megabytes, which a client that only sends would fill.
const readBuffer = 128 << 10

// A wait is what a connection waits for.
type wait int32

const (
	waitIdle    wait = iota // a request, after another
	waitHeader              // the header of a request
	waitBody                // its body
	waitHandler             // not for the client
)

// A conn is a connection of conns.
type conn struct {
	net.Conn
	all     *conns
	spare   bool         // above the limit
	wait    atomic.Int32 // a wait, stored after since
	since   atomic.Int64 // when it began
	writing atomic.Int64 // when the write in progress began; 0 if there is none
	left    atomic.Int64 // when the client closed its side; 0 if it has not
	served  atomic.Bool  // a request has been let in
	timed   atomic.Bool  // there is a read deadline
}

type connKey struct{}

// connOf returns the connection of a request, or nil if the server is not [Serve]'s.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func newConns(l net.Listener, o ServeOptions) *conns {
	all := &conns{Listener: l, o: o, began: time.Now(), ended: make(chan struct{}), open: map[*conn]struct{}{}}
	go all.sweep()
	return all
}

// attach makes a server report the states of its connections.
func (all *conns) attach(s *http.Server) {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateActive:
			c.(*conn).begin()
		case http.StateIdle:
			c.(*conn).await(waitIdle)
		}
	}
}

// Accept implements [net.Listener]. At the limit, a connection that waits for its client makes
// room.
func (all *conns) Accept() (net.Conn, error) {
	for {
		accepted, err := all.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			if all.displace() {
				time.Sleep(time.Millisecond) // until its file is closed
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if c := all.add(accepted); c != nil {
			return c, nil
		}
		accepted.Close()
	}
}

func (all *conns) add(accepted net.Conn) *conn {
	c := &conn{Conn: accepted, all: all}
	if tcp, ok := accepted.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(readBuffer)
	}
	c.await(waitHeader)
	if all.full(0) {
		all.displace()
	}
	c.spare = all.full(0)
	if all.full(spareConns) {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.open[c] = struct{}{}
	return c
}

func (all *conns) full(spare int) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.open) >= all.o.MaxConns+spare
}

// A connection is displaced first if no request of it was let in for unserved, or if it has been
// writing for stalled.
const (
	unserved = int64(100 * time.Millisecond)
	stalled  = int64(time.Second)
)

// displace ends a connection that waits for its client. It reports false if none does. The first to
// go are those of clients that seem hostile, then those between two requests, which clients expect,
// then new ones, and last those in the middle of a request; of these, the one that has waited for the
// longest time.
func (all *conns) displace() bool {
	now := all.now()
	var found *conn
	var lowest int
	var oldest int64
	all.mu.Lock()
	for c := range all.open {
		rank, since := 3, c.since.Load()
		writing := c.writing.Load()
		switch waits := wait(c.wait.Load()); {
		case writing != 0 && now-writing > stalled:
			rank, since = 0, writing
		case waits == waitHandler:
			continue
		case !c.served.Load() && now-since > unserved:
			rank = 0
		case waits == waitIdle:
			rank = 1
		case !c.served.Load():
			rank = 2
		}
		if found == nil || rank < lowest || rank == lowest && since < oldest {
			found, lowest, oldest = c, rank, since
		}
	}
	all.mu.Unlock()
	if found == nil {
		return false
	}
	found.cut("there are too many connections")
	return true
}

func (all *conns) now() int64 { return int64(time.Since(all.began)) + 1 } // 0 means never

// sweep ends connections whose clients are too slow.
func (all *conns) sweep() {
	tick := time.NewTicker(min(time.Second, max(min(all.o.HeaderTimeout, all.o.BodyTimeout, all.o.WriteTimeout, all.o.Idle)/4, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-all.ended:
			return
		case <-tick.C:
			now := all.now()
			for _, c := range all.list() {
				c.check(now)
			}
		}
	}
}

func (all *conns) list() []*conn {
	all.mu.Lock()
	defer all.mu.Unlock()
	list := make([]*conn, 0, len(all.open))
	for c := range all.open {
		list = append(list, c)
	}
	return list
}

func (c *conn) check(now int64) {
	if left := c.left.Load(); left != 0 && now-left >= int64(c.all.o.WriteTimeout) {
		c.Close() // its call may go on, without the file
		return
	}
	if writing := c.writing.Load(); writing != 0 {
		if now-writing >= int64(c.all.o.WriteTimeout) {
			c.cut("the client does not read")
		}
		return
	}
	waits := wait(c.wait.Load()) // before since, see await
	waited := time.Duration(now - c.since.Load())
	switch {
	case waits == waitIdle && waited >= c.all.o.Idle, waits == waitHeader && waited >= c.all.o.HeaderTimeout:
		c.Close()
	case waits == waitBody && waited >= c.all.o.BodyTimeout:
		_ = c.SetReadDeadline(time.Unix(1, 0)) // the handler answers
	}
}

func (c *conn) await(next wait) {
	c.since.Store(c.all.now())
	c.wait.Store(int32(next))
}

// begin is called when the header of a request has been read. If that took no call of Read, the
// client sends requests without waiting for responses. It then takes turns with the others: it would
// otherwise keep a CPU for ten milliseconds at a time.
func (c *conn) begin() {
	if wait(c.wait.Load()) == waitIdle {
		runtime.Gosched()
	}
}

// Read implements [io.Reader]. It notes when a request begins, and when the client has left, which
// package net/http sees while a request is handled.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.left.Store(c.all.now())
	}
	if n > 0 && wait(c.wait.Load()) == waitIdle {
		c.await(waitHeader)
	}
	return n, err
}

// Write implements [io.Writer]. The sweep ends a write that takes too long.
func (c *conn) Write(p []byte) (int, error) {
	c.writing.Store(c.all.now())
	defer c.writing.Store(0)
	return c.Conn.Write(p)
}

// SetReadDeadline implements [net.Conn]. Removing a deadline that was not set, as package net/http
// does several times for each request, does nothing.
func (c *conn) SetReadDeadline(t time.Time) error {
	if timed := !t.IsZero(); c.timed.Swap(timed) || timed {
		return c.Conn.SetReadDeadline(t)
	}
	return nil
}

// cut ends the connection without waiting for its client to accept what was written.
func (c *conn) cut(why string) {
	c.all.o.Logger.Debug("connection cut", "error", why, "caller", c.RemoteAddr().String())
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

// Close implements [net.Conn].
func (c *conn) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
