package web

import (
	"errors"
	"net"
	"sync"
	"time"
)

// A lazyListener accepts connections whose deadlines cost nothing until they are needed.
type lazyListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l lazyListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if tcp, ok := accepted.(*net.TCPConn); ok { // others may be more than package net/http would see
		return &conn{Conn: tcp}, nil
	}
	return accepted, err
}

// A conn sets its deadline for reading when it is read. A server sets one for the header, for the body, for none of these and for the next request,
// with each request, most of which come in one piece: a timer for each took as long as a tool does.
type conn struct {
	net.Conn

	mu      sync.Mutex
	wanted  time.Time // the deadline
	held    time.Time // the one that the connection has
	readers int
}

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	c.mu.Lock()
	err := c.hold()
	c.readers++
	c.mu.Unlock()
	n := 0
	if err == nil {
		n, err = c.Conn.Read(p)
	}
	c.mu.Lock()
	c.readers--
	c.mu.Unlock()
	return n, err
}

// SetReadDeadline implements [net.Conn].
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = t
	if c.readers > 0 {
		return c.hold()
	}
	return nil
}

// hold has the connection go by the deadline. mu is held.
func (c *conn) hold() error {
	if c.held.Equal(c.wanted) {
		return nil
	}
	c.held = c.wanted
	return c.Conn.SetReadDeadline(c.wanted)
}

// SetDeadline implements [net.Conn].
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite tells the peer that nothing more comes, as far as that can be said; package net/http asks for it before it closes.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
