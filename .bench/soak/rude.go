package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/raw"
)

// drop closes a connection, half of the time with a reset.
func (c *client) drop(conn *raw.Conn) {
	if tcp, ok := conn.Conn.(*net.TCPConn); ok && c.dice.IntN(2) == 0 {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// disconnect sends a request and disconnects at a random moment.
func (c *client) disconnect() error {
	defer c.pause(150 * time.Millisecond)
	conn, err := c.dial()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.drop(conn)
	era := eras.All()[c.dice.IntN(2)]
	session := ""
	if era.Sessions() {
		head, _, err := conn.Do(era.Post(eras.Initialize(c.id())))
		if err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
		session = head.Session
	}
	what, request := c.something(era, session)
	if c.dice.IntN(3) == 0 {
		c.report.did("disconnected during a request")
		conn.Write(request[:c.dice.IntN(len(request))])
		c.pause(30 * time.Millisecond)
		return nil
	}
	c.report.did("disconnected during " + what)
	conn.Write(request)
	if c.dice.IntN(2) == 0 {
		conn.SetReadDeadline(time.Now().Add(time.Second))
		conn.Read(make([]byte, 1+c.dice.IntN(500)))
	}
	c.pause(30 * time.Millisecond)
	return nil
}

// something returns a random request.
func (c *client) something(era eras.Era, session string) (what string, request []byte) {
	id := c.id()
	switch c.dice.IntN(5) {
	case 0:
		return "a call", era.Post(era.Call(session, id, "add", `{"a":1,"b":2}`))
	case 1:
		return "a call that waits", era.Post(era.Call(session, id, "slow", fmt.Sprintf(`{"ms":%d}`, c.dice.IntN(300))))
	case 2:
		return "an elicitation", era.Post(era.Call(session, id, "ask", `{}`))
	case 3:
		if era.Sessions() {
			return "a GET stream", eras.Listen(session, "")
		}
		return "a listen", era.Post(eras.Request{ID: id, Method: "subscriptions/listen", Params: `"notifications":{"toolsListChanged":true}`})
	}
	return "a stream", c.counting(era, session, id, 1+c.dice.IntN(50), c.dice.IntN(2000), c.dice.IntN(5))
}

// slow requests 20 MB and reads a few bytes of it at a time.
func (c *client) slow() error {
	conn, err := c.dial()
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer c.drop(conn)
	if tcp, ok := conn.Conn.(*net.TCPConn); ok {
		tcp.SetReadBuffer(4 << 10)
	}
	era := eras.All()[c.dice.IntN(2)]
	session := ""
	if era.Sessions() {
		head, _, err := conn.Do(era.Post(eras.Initialize(c.id())))
		if err != nil {
			return fmt.Errorf("initialize: %w", err)
		}
		session = head.Session
	}
	conn.SetDeadline(time.Time{})
	// 20 MB, of which the buffers of two sockets hold a part.
	if _, err := conn.Write(c.counting(era, session, c.id(), 5000, 4000, 0)); err != nil {
		return nil
	}
	c.report.did("requested 20 MB and read slowly")
	for until := time.Now().Add(time.Duration(5+c.dice.IntN(25)) * time.Second); time.Now().Before(until) && !c.over(); {
		conn.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := conn.Read(make([]byte, 8)); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.report.did("disconnected by the server for reading slowly")
			return nil
		}
		c.pause(500 * time.Millisecond)
	}
	return nil
}
