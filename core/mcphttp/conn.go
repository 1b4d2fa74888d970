package web

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// A lazyListener accepts connections whose deadlines cost nothing until they are needed.
type lazyListener struct{ net.Listener }

// Accept implements [net.Listener].
func (l lazyListener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if tcp, ok := accepted.(*net.TCPConn); ok { // others may be more than package net/http would see
		return newConn(tcp), nil
	}
	return accepted, err
}

// A conn sets its deadline for reading when it is read. A server sets one for the header, for the body, for none of these and for the next request,
// with each request, most of which come in one piece: to set them all took a twentieth of its time.
type conn struct {
	net.Conn
	began time.Time

	mu      sync.Mutex
	wanted  time.Time // the deadline
	held    time.Time // the one that the connection has
	readers int
}

func newConn(c net.Conn) *conn { return &conn{Conn: c, began: time.Now()} }

// Read implements [net.Conn].
func (c *conn) Read(p []byte) (int, error) {
	if err := c.beginRead(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.readers--
	c.mu.Unlock()
	return n, err
}

// beginRead makes one a reader who may go by the deadline.
func (c *conn) beginRead() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.wanted.IsZero() && c.wanted.Before(c.began) {
		return os.ErrDeadlineExceeded // so package net/http takes back a read that has often not begun
	}
	if err := c.hold(); err != nil {
		return err
	}
	c.readers++
	return nil
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
