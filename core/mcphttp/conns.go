package mcphttp

import (
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// conns is a listener that limits the number of its connections and closes those of slow clients.
// Each connection records what it waits for and since when, and a sweep checks all of them at least
// once a second. Unlike deadlines, that costs almost nothing per request and covers every state of
// a connection.
type conns struct {
	net.Listener
	o     ServeOptions
	start time.Time // times are nanoseconds since start, which clock changes do not affect
	done  chan struct{}

	mu   sync.Mutex
	open map[*conn]struct{}
}

// healthConns is the number of connections allowed above the limit, for health checks only.
const healthConns = 16

// readBuffer is the size of the kernel's receive buffer of a connection. By default it grows to
// several megabytes, which a client that only sends would fill.
const readBuffer = 128 << 10

// A phase is what a connection waits for.
type phase int32

const (
	phaseIdle    phase = iota // the next request
	phaseHeader               // the header of a request
	phaseBody                 // the body of a request
	phaseHandler              // the server's own handler
)

// A conn is a connection of conns.
type conn struct {
	net.Conn
	all          *conns
	overLimit    bool         // for health checks only
	phase        atomic.Int32 // a phase, stored after since
	since        atomic.Int64 // when the phase began
	writeStart   atomic.Int64 // when the write in progress began; 0 without one
	clientClosed atomic.Int64 // when the client closed its side; 0 if open
	served       atomic.Bool  // a request was admitted
}

type connKey struct{}

// connOf returns the connection of a request, or nil if [Serve] did not accept it.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func newConns(l net.Listener, o ServeOptions) *conns {
	all := &conns{Listener: l, o: o, start: time.Now(), done: make(chan struct{}), open: map[*conn]struct{}{}}
	go all.sweep()
	return all
}

// setState is called by a server when the state of a connection changes.
func setState(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateActive:
		c.(*conn).yieldIfPipelined()
	case http.StateIdle:
		c.(*conn).setPhase(phaseIdle)
	}
}

// Accept implements [net.Listener]. At the limit, it evicts a connection that waits for its client.
func (all *conns) Accept() (net.Conn, error) {
	for {
		accepted, err := all.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			if all.evict() {
				time.Sleep(time.Millisecond) // until the descriptor is closed
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
	c.setPhase(phaseHeader)
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.open) >= all.o.MaxConns {
		all.mu.Unlock()
		all.evict()
		all.mu.Lock()
	}
	if len(all.open) >= all.o.MaxConns+healthConns {
		return nil
	}
	c.overLimit = len(all.open) >= all.o.MaxConns
	all.open[c] = struct{}{}
	return c
}

// A connection is evicted first if none of its requests was admitted within unservedLimit, or if a
// write takes longer than stalledLimit.
const (
	unservedLimit = int64(100 * time.Millisecond)
	stalledLimit  = int64(time.Second)
)

// evict closes a connection that waits for its client, or reports false if none does. It prefers
// connections of clients that seem hostile, then idle ones, then new ones, then those in the middle
// of a request. Of equals it closes the one that has waited longest.
func (all *conns) evict() bool {
	now := all.now()
	var found *conn
	var lowest int
	var oldest int64
	all.mu.Lock()
	for c := range all.open {
		rank, since := 3, c.since.Load()
		writing := c.writeStart.Load()
		switch current := phase(c.phase.Load()); {
		case writing != 0 && now-writing > stalledLimit:
			rank, since = 0, writing
		case current == phaseHandler:
			continue
		case !c.served.Load() && now-since > unservedLimit:
			rank = 0
		case current == phaseIdle:
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
	found.abort("too many connections")
	return true
}

func (all *conns) now() int64 { return int64(time.Since(all.start)) + 1 } // 0 means never

// sweep closes connections of slow clients until done is closed.
func (all *conns) sweep() {
	tick := time.NewTicker(min(time.Second, max(min(all.o.HeaderTimeout, all.o.BodyTimeout, all.o.WriteTimeout, all.o.Idle)/4, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-all.done:
			return
		case <-tick.C:
			now := all.now()
			all.mu.Lock()
			open := slices.Collect(maps.Keys(all.open))
			all.mu.Unlock()
			for _, c := range open {
				c.enforceTimeouts(now)
			}
		}
	}
}

func (c *conn) enforceTimeouts(now int64) {
	if closedAt := c.clientClosed.Load(); closedAt != 0 && now-closedAt >= int64(c.all.o.WriteTimeout) {
		c.Close() // a call that still runs does not need the connection
		return
	}
	if writing := c.writeStart.Load(); writing != 0 {
		if now-writing >= int64(c.all.o.WriteTimeout) {
			c.abort("write timeout")
		}
		return
	}
	current := phase(c.phase.Load()) // load before since: setPhase stores them in the other order
	waited := time.Duration(now - c.since.Load())
	switch {
	case current == phaseIdle && waited >= c.all.o.Idle, current == phaseHeader && waited >= c.all.o.HeaderTimeout:
		c.Close()
	case current == phaseBody && waited >= c.all.o.BodyTimeout:
		_ = c.SetReadDeadline(time.Unix(1, 0)) // the handler responds with status 408
	}
}

func (c *conn) setPhase(next phase) {
	c.since.Store(c.all.now())
	c.phase.Store(int32(next))
}

// yieldIfPipelined is called when the header of a request has been read. If the header was already
// buffered, the client pipelines its requests, and the goroutine would run until it is preempted.
// So it yields.
func (c *conn) yieldIfPipelined() {
	if phase(c.phase.Load()) == phaseIdle {
		runtime.Gosched()
	}
}

// Read implements [io.Reader]. It records when a request starts and when the client disconnects,
// which net/http detects by reading while a handler runs.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.clientClosed.Store(c.all.now())
	}
	if n > 0 && phase(c.phase.Load()) == phaseIdle {
		c.setPhase(phaseHeader)
	}
	return n, err
}

// Write implements [io.Writer]. The sweep aborts a write that takes too long.
func (c *conn) Write(p []byte) (int, error) {
	c.writeStart.Store(c.all.now())
	defer c.writeStart.Store(0)
	return c.Conn.Write(p)
}

// abort closes the connection and discards data that the client has not read.
func (c *conn) abort(reason string) {
	c.all.o.Logger.Debug("connection aborted", "error", reason, "caller", c.RemoteAddr().String())
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	c.Close()
}

func (c *conn) Close() error {
	c.all.mu.Lock()
	delete(c.all.open, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}
