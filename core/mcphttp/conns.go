package mcphttp

import (
	"errors"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// conns is a listener that limits the number of its connections and closes those of slow clients.
// Each connection records its phase and when that began, and a sweep checks all connections at
// least once a second. Unlike deadlines, that costs almost nothing per request and covers every
// state of a connection.
type conns struct {
	net.Listener
	o      ServeOptions
	limits [phaseClosed + 1]time.Duration // of the phases
	start  time.Time                      // times are relative to it, which ignores clock changes
	done   chan struct{}

	mu   sync.Mutex
	open map[*conn]struct{}
}

// healthConns is the number of connections allowed above the limit, for health checks only.
const healthConns = 16

// readBuffer is the size of the kernel's receive buffer of a connection. By default it grows to
// several megabytes, which a client that only sends would fill.
const readBuffer = 128 << 10

// The phases of a connection: what it waits for.
const (
	phaseIdle    int32 = iota // the next request
	phaseHeader               // the header of a request
	phaseBody                 // the body of a request
	phaseHandler              // the server's own handler
	phaseWrite                // the client, to read a part of the response
	phaseClosed               // the server's own handler; the client has closed its side
)

// A conn is a connection of conns.
type conn struct {
	net.Conn
	all       *conns
	overLimit bool         // for health checks only
	phase     atomic.Int32 // stored after since
	since     atomic.Int64 // when the phase began
	served    atomic.Bool  // a request was admitted
}

type connKey struct{}

// connOf returns the connection of a request, or nil if [Serve] did not accept it.
func connOf(r *http.Request) *conn {
	c, _ := r.Context().Value(connKey{}).(*conn)
	return c
}

func newConns(l net.Listener, o ServeOptions) *conns {
	all := &conns{Listener: l, o: o, start: time.Now(), done: make(chan struct{}), open: map[*conn]struct{}{}}
	all.limits = [...]time.Duration{
		phaseIdle:    o.Idle,
		phaseHeader:  o.HeaderTimeout,
		phaseBody:    o.BodyTimeout,
		phaseHandler: math.MaxInt64,
		phaseWrite:   o.WriteTimeout,
		phaseClosed:  o.WriteTimeout, // the client may still read
	}
	go all.sweep()
	return all
}

// setState is called by a server when the state of a connection changes. When the header of a
// request has been read but was already buffered, the client pipelines its requests, and the
// goroutine would run until it is preempted. So it yields.
func setState(changed net.Conn, state http.ConnState) {
	switch c := changed.(*conn); {
	case state == http.StateIdle:
		c.setPhase(phaseIdle)
	case state == http.StateActive && c.phase.Load() == phaseIdle:
		runtime.Gosched()
	}
}

// Accept implements [net.Listener]. At the limit, it evicts a connection that waits for its client.
func (all *conns) Accept() (net.Conn, error) {
	for {
		accepted, err := all.Listener.Accept()
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
		all.evict()
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
	unservedLimit = 100 * time.Millisecond
	stalledLimit  = time.Second
)

// evict closes a connection that waits for its client, if there is one. It prefers connections of
// clients that seem hostile, then idle ones, then new ones, then those in the middle of a request.
// Of equals it closes the one that has waited longest. mu is held.
func (all *conns) evict() {
	var found *conn
	var lowest int
	var longest time.Duration
	for c := range all.open {
		rank := 3
		current, waited := c.state()
		switch {
		case current == phaseWrite && waited > stalledLimit:
			rank = 0
		case current >= phaseHandler:
			continue
		case !c.served.Load() && waited > unservedLimit:
			rank = 0
		case current == phaseIdle:
			rank = 1
		case !c.served.Load():
			rank = 2
		}
		if found == nil || rank < lowest || rank == lowest && waited > longest {
			found, lowest, longest = c, rank, waited
		}
	}
	if found != nil {
		delete(all.open, found)
		go found.abort("too many connections") // it locks mu
	}
}

// sweep closes connections of slow clients until done is closed.
func (all *conns) sweep() {
	tick := time.NewTicker(min(time.Second, max(slices.Min(all.limits[:])/4, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-all.done:
			return
		case <-tick.C:
			all.mu.Lock()
			open := slices.Collect(maps.Keys(all.open))
			all.mu.Unlock()
			for _, c := range open {
				c.enforceTimeout()
			}
		}
	}
}

func (c *conn) enforceTimeout() {
	switch current, waited := c.state(); {
	case waited < c.all.limits[current]:
	case current == phaseBody:
		_ = c.SetReadDeadline(time.Unix(1, 0)) // the handler responds with status 408
	case current == phaseWrite:
		c.abort("write timeout")
	default:
		c.Close() // in phaseClosed, the call that still runs does not need the connection
	}
}

// state returns the phase of the connection, and for how long it has been in it.
func (c *conn) state() (current int32, waited time.Duration) {
	current = c.phase.Load() // load before since: setPhase stores them in the other order
	return current, time.Since(c.all.start) - time.Duration(c.since.Load())
}

// setPhase sets the phase, and returns the previous one.
func (c *conn) setPhase(next int32) (previous int32) {
	c.since.Store(int64(time.Since(c.all.start)))
	return c.phase.Swap(next)
}

// Read implements [io.Reader]. It records when a request starts and when the client disconnects,
// which net/http detects by reading while a handler runs.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.setPhase(phaseClosed)
	} else if n > 0 && c.phase.Load() == phaseIdle {
		c.setPhase(phaseHeader)
	}
	return n, err
}

// Write implements [io.Writer]. The sweep aborts a write that takes too long.
func (c *conn) Write(p []byte) (int, error) {
	previous := c.setPhase(phaseWrite)
	defer c.phase.CompareAndSwap(phaseWrite, previous) // unless the client closes its side
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
