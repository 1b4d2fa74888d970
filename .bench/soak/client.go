package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/raw"
)

// patience is the timeout of a request.
const patience = time.Minute

// A client is one of the clients. It is not safe for concurrent use.
type client struct {
	number int
	kind   string
	addr   string
	ctx    context.Context // ends with the soak; pending requests are completed
	report *report
	dice   *rand.Rand
	conn   *raw.Conn // kept open, or nil
	lastID int
}

// over reports whether the soak has ended.
func (c *client) over() bool { return c.ctx.Err() != nil }

// pause waits for a random time, at most most.
func (c *client) pause(most time.Duration) {
	select {
	case <-time.After(time.Duration(c.dice.Int64N(int64(most)))):
	case <-c.ctx.Done():
	}
}

// id returns a new id.
func (c *client) id() int {
	c.lastID++
	return c.lastID
}

// hangUp closes c.conn.
func (c *client) hangUp() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// dial opens another connection.
func (c *client) dial() (*raw.Conn, error) {
	conn, err := raw.Dial(c.addr)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(patience))
	}
	return conn, err
}

// ask sends a request over c.conn, and reads the head of the response.
func (c *client) ask(request []byte) (raw.Head, error) {
	var err error
	if c.conn == nil {
		if c.conn, err = c.dial(); err != nil {
			return raw.Head{}, err
		}
	}
	if err := c.conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return raw.Head{}, err
	}
	return c.conn.Ask(request)
}

// do sends a request, expects a response with a status and not a stream, and returns its body.
func (c *client) do(request []byte, status int) (raw.Head, []byte, error) {
	head, err := c.ask(request)
	if err != nil {
		return head, nil, err
	}
	body, err := c.conn.Body()
	switch {
	case err != nil:
		return head, body, err
	case head.Status != status:
		return head, body, fmt.Errorf("status %d, want %d: %s", head.Status, status, body)
	case head.Close:
		c.hangUp()
	}
	return head, raw.Message(head, body), nil
}

// A message is a message from the server.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Progress float64
		URI      string
	}
	Result *struct {
		Content []struct{ Text string }
		IsError bool
	}
	Error json.RawMessage
}

// text returns the text of the result of the call id. All other messages are errors.
func (m message) text(id int) (string, error) {
	if string(m.ID) != fmt.Sprint(id) || m.Error != nil || m.Result == nil || m.Result.IsError || len(m.Result.Content) != 1 {
		return "", fmt.Errorf("not the result of the call %d: %+v", id, m)
	}
	return m.Result.Content[0].Text, nil
}

// add calls the tool add and checks the result.
func (c *client) add(era eras.Era, session, what string) error {
	id, a, b := c.id(), c.dice.IntN(1000), c.dice.IntN(1000)
	begun := time.Now()
	_, body, err := c.do(era.Post(era.Call(session, id, "add", fmt.Sprintf(`{"a":%d,"b":%d}`, a, b))), http.StatusOK)
	if err != nil {
		return fmt.Errorf("add: %w", err)
	}
	c.report.took(what, time.Since(begun))
	return wantText(body, id, fmt.Sprintf(`{"sum":%d}`, a+b))
}

// wantText checks the answer to a call.
func wantText(body []byte, id int, want string) error {
	var m message
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("%w: %s", err, body)
	}
	text, err := m.text(id)
	if err == nil && text != want {
		err = fmt.Errorf("call %d: got %s, want %s", id, text, want)
	}
	return err
}

// counting returns a call of count, whose response is a stream.
func (c *client) counting(era eras.Era, session string, id, to, bytes, ms int) []byte {
	r := era.Call(session, id, "count", fmt.Sprintf(`{"to":%d,"bytes":%d,"ms":%d}`, to, bytes, ms))
	r.Meta = fmt.Sprintf(`"progressToken":%d`, id)
	return era.Post(r)
}

// progress calls count and checks that all progress notifications arrive in order, then the result.
func (c *client) progress(era eras.Era, session, what string) error {
	id, to := c.id(), 1+c.dice.IntN(10)
	begun := time.Now()
	head, err := c.ask(c.counting(era, session, id, to, 100, c.dice.IntN(3)))
	if err := streams("count", head, err); err != nil {
		return err
	}
	f := &follower{id: id, to: to}
	if _, err := f.follow(c.conn.Events(), -1); err != nil {
		return fmt.Errorf("count to %d: %w", to, err)
	}
	c.report.took(what, time.Since(begun))
	if head.Close {
		c.hangUp()
	}
	return nil
}

// streams returns an error unless a response is a stream.
func streams(what string, head raw.Head, err error) error {
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case head.Status != http.StatusOK || !head.Events:
		return fmt.Errorf("%s: want a stream, got status %d, stream: %v", what, head.Status, head.Events)
	}
	return nil
}

// A follower follows the progress of a call of count.
type follower struct {
	id, to int
	at     int
	done   bool
	last   string // the id of the last event
}

var errMore = errors.New("the stream continues after the response")

// follow reads a stream to its end, or at most most events. It reports whether the stream has
// ended.
func (f *follower) follow(s *raw.Stream, most int) (bool, error) {
	for n := 0; n != most; n++ {
		event, err := s.Next()
		if errors.Is(err, io.EOF) && f.done {
			return true, nil
		}
		if err != nil {
			return true, fmt.Errorf("at %d: %w", f.at, err)
		}
		if event.ID != "" {
			f.last = event.ID
		}
		if len(event.Data) == 0 {
			n--
			continue
		}
		if f.done {
			return true, errMore
		}
		if err := f.take(event.Data); err != nil {
			return true, err
		}
	}
	return false, nil
}

// take checks a message.
func (f *follower) take(data []byte) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: %s", err, data)
	}
	if m.Method == "notifications/progress" {
		f.at++
		if m.Params.Progress != float64(f.at) {
			return fmt.Errorf("progress %v, want %d", m.Params.Progress, f.at)
		}
		return nil
	}
	text, err := m.text(f.id)
	if err == nil && (f.at != f.to || text != fmt.Sprintf("counted to %d", f.to)) {
		err = fmt.Errorf("%q after %d of %d", text, f.at, f.to)
	}
	f.done = true
	return err
}
