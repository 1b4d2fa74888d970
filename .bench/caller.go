package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/raw"
)

// idsEach is how many ids a caller has for its calls.
const idsEach = 1_000_000

// A caller is a client over HTTP: a connection that is kept, and a session where the era has them.
type caller struct {
	conn    *raw.Conn
	era     eras.Era
	session string
	request []byte // a call of add, whose id is put in
	idAt    int
	nextID  int
	pattern pattern
	calls   int // answered
}

// newCaller connects the n-th client to a server and checks one call.
func newCaller(p *served, era eras.Era, n int) (*caller, error) {
	conn, err := p.dial()
	if err != nil {
		return nil, err
	}
	c := &caller{conn: conn, era: era, nextID: firstID + n*idsEach}
	if era.Sessions() {
		if c.session, err = openSession(conn); err != nil {
			conn.Close()
			return nil, p.failed(err)
		}
	}
	c.request = era.Post(era.Call(c.session, firstID, "add", addArguments))
	c.idAt = bytes.LastIndex(c.request, fmt.Append(nil, firstID))
	if err := c.first(); err != nil {
		conn.Close()
		return nil, p.failed(err)
	}
	return c, nil
}

// openSession shakes hands over a connection, and returns the session's id.
func openSession(conn *raw.Conn) (string, error) {
	head, body, err := conn.Do(eras.Handshake().Post(eras.Initialize(initializeID)))
	switch {
	case err != nil:
		return "", err
	case head.Status != http.StatusOK || head.Session == "":
		return "", fmt.Errorf("status %d and session %q for initialize: %s", head.Status, head.Session, body)
	}
	session := head.Session
	head, body, err = conn.Do(eras.Handshake().Post(eras.Initialized(session)))
	switch {
	case err != nil:
		return "", err
	case head.Status != http.StatusAccepted:
		return "", fmt.Errorf("status %d for notifications/initialized: %s", head.Status, body)
	}
	return session, nil
}

// roundTrip makes a call and returns its id and the message that answers it, valid until the next call.
func (c *caller) roundTrip() (int, []byte, error) {
	id := c.nextID
	c.nextID++
	putNumber(c.request[c.idAt:c.idAt+idDigits], id)
	head, body, err := c.conn.Do(c.request)
	if err != nil {
		return id, nil, err
	}
	if head.Status != http.StatusOK || head.Close {
		return id, nil, fmt.Errorf("status %d for a call, and the connection is closed: %v: %s", head.Status, head.Close, body)
	}
	return id, raw.Message(head, body), nil
}

// first makes one call, whose answer is decoded and becomes the pattern.
func (c *caller) first() error {
	id, message, err := c.roundTrip()
	if err != nil {
		return err
	}
	c.pattern, err = learn(message, id)
	return err
}

// call makes a call and checks its answer: against the pattern, and in full, as a client has to that
// waits for it.
func (c *caller) call() error {
	id, message, err := c.roundTrip()
	if err != nil {
		return err
	}
	if got, ok := c.pattern.id(message); !ok || got != id {
		return fmt.Errorf("an answer to %d unlike the first one: %s", id, message)
	}
	c.calls++
	return checkAnswer(message, id)
}

// errTooMany means that a caller has run out of ids.
var errTooMany = errors.New("more calls than there are ids; try a smaller -time")

// check reports whether there are ids left.
func (c *caller) check() error {
	if c.calls >= idsEach-2 {
		return errTooMany
	}
	return nil
}
