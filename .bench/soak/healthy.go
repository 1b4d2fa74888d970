package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/raw"
)

// Operations that must not fail.
const (
	addInSession      = "2025-11-25: call"
	addStateless      = "2026-07-28: call"
	progressInSession = "2025-11-25: call with progress"
	progressStateless = "2026-07-28: call with progress"
	updateOverGet     = "2025-11-25: update over the GET stream"
	updateOverListen  = "2026-07-28: update over subscriptions/listen"
	asked             = "2025-11-25: call with elicitation"
	resumed           = "2025-11-25: stream cut and resumed"
	opened            = "2025-11-25: session opened"
	ended             = "2025-11-25: session ended"
)

// stateless makes calls without a session.
func (c *client) stateless() error {
	for range 5 {
		if err := c.add(eras.Stateless(), "", addStateless); err != nil {
			return err
		}
		c.pause(20 * time.Millisecond)
	}
	return c.progress(eras.Stateless(), "", progressStateless)
}

// session opens a session, performs random operations in it, and ends it.
func (c *client) session() (err error) {
	s, err := c.open()
	if err != nil {
		return fmt.Errorf("open session: %w", err)
	}
	defer s.close()
	steps := []func() error{
		func() error { return c.add(eras.Handshake(), s.id, addInSession) },
		func() error { return c.add(eras.Handshake(), s.id, addInSession) },
		func() error { return c.progress(eras.Handshake(), s.id, progressInSession) },
		s.update,
		s.question,
		s.cut,
	}
	for range 30 {
		if c.over() {
			break
		}
		if err := steps[c.dice.IntN(len(steps))](); err != nil {
			return err
		}
		c.pause(20 * time.Millisecond)
	}
	return s.end()
}

// A session is a client's session, with its GET stream.
type session struct {
	client *client
	id     string
	stream *raw.Conn
	heard  chan message // from the stream; closed at its end
	ended  error        // of the stream, once heard is closed
}

// open performs the handshake, opens the session's stream and subscribes to the client's resource.
func (c *client) open() (*session, error) {
	begun := time.Now()
	era := eras.Handshake()
	head, body, err := c.do(era.Post(eras.Initialize(c.id())), http.StatusOK)
	if err != nil {
		return nil, err
	}
	s := &session{client: c, id: head.Session, heard: make(chan message, 16)}
	if s.id == "" {
		return nil, fmt.Errorf("no session: %s", body)
	}
	if _, _, err := c.do(era.Post(eras.Initialized(s.id)), http.StatusAccepted); err != nil {
		return nil, err
	}
	if s.stream, err = c.dial(); err != nil {
		return nil, err
	}
	head, err = s.stream.Ask(eras.Listen(s.id, ""))
	if err := streams("the session's stream", head, err); err != nil {
		s.stream.Close()
		return nil, err
	}
	s.stream.SetDeadline(time.Time{})
	go s.listen(s.stream.Events())
	subscribe := eras.Request{Session: s.id, ID: c.id(), Method: "resources/subscribe", Params: fmt.Sprintf(`"uri":%q`, c.note())}
	if _, _, err := c.do(era.Post(subscribe), http.StatusOK); err != nil {
		s.close()
		return nil, err
	}
	c.report.took(opened, time.Since(begun))
	return s, nil
}

// note returns the URI of the client's resource, which no other client uses.
func (c *client) note() string { return fmt.Sprintf("note://%d", c.number) }

// listen reads the stream until it ends.
func (s *session) listen(events *raw.Stream) {
	defer close(s.heard)
	for {
		event, err := events.Next()
		if err != nil {
			s.ended = err
			return
		}
		var m message
		if len(event.Data) == 0 {
			continue
		}
		if s.ended = json.Unmarshal(event.Data, &m); s.ended != nil {
			return
		}
		s.heard <- m
	}
}

// update changes the resource and waits for the notification.
func (s *session) update() error {
	begun := time.Now()
	if err := s.client.touch(eras.Handshake(), s.id); err != nil {
		return err
	}
	select {
	case m, ok := <-s.heard:
		if !ok {
			return fmt.Errorf("the stream has ended: %w", s.ended)
		}
		if m.Method != "notifications/resources/updated" || m.Params.URI != s.client.note() {
			return fmt.Errorf("unexpected message on the stream: %+v", m)
		}
	case <-time.After(patience):
		return errors.New("no update on the stream")
	}
	s.client.report.took(updateOverGet, time.Since(begun))
	return nil
}

// touch calls the tool touch.
func (c *client) touch(era eras.Era, session string) error {
	id := c.id()
	_, body, err := c.do(era.Post(era.Call(session, id, "touch", fmt.Sprintf(`{"uri":%q}`, c.note()))), http.StatusOK)
	if err != nil {
		return fmt.Errorf("touch: %w", err)
	}
	return wantText(body, id, "touched")
}

// question calls a tool that sends an elicitation over the stream of the call, and answers it over
// another connection.
func (s *session) question() error {
	c, era := s.client, eras.Handshake()
	begun, id := time.Now(), c.id()
	conn, err := c.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	head, err := conn.Ask(era.Post(era.Call(s.id, id, "ask", `{}`)))
	if err := streams("ask", head, err); err != nil {
		return err
	}
	for events := conn.Events(); ; {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("ask: %w", err)
		}
		if len(event.Data) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(event.Data, &m); err != nil {
			return err
		}
		if m.Method != "elicitation/create" {
			c.report.took(asked, time.Since(begun))
			return wantText(event.Data, id, "Hello, Ada")
		}
		answer := eras.Request{Session: s.id, Question: string(m.ID), Answer: `{"action":"accept","content":{"name":"Ada"}}`}
		if _, _, err := c.do(era.Post(answer), http.StatusAccepted); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// cut closes the stream of a call, and resumes it after the last event.
func (s *session) cut() error {
	c, era := s.client, eras.Handshake()
	begun := time.Now()
	f := &follower{id: c.id(), to: 5 + c.dice.IntN(10)}
	conn, err := c.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	head, err := conn.Ask(c.counting(era, s.id, f.id, f.to, 100, 2))
	if err := streams("count", head, err); err != nil {
		return err
	}
	if _, err := f.follow(conn.Events(), 1+c.dice.IntN(4)); err != nil {
		return err
	}
	c.drop(conn)
	again, err := c.dial()
	if err != nil {
		return err
	}
	defer again.Close()
	head, err = again.Ask(eras.Listen(s.id, f.last))
	if err := streams("resume after "+f.last, head, err); err != nil {
		return err
	}
	if _, err := f.follow(again.Events(), -1); err != nil {
		return fmt.Errorf("resumed after %q: %w", f.last, err)
	}
	c.report.took(resumed, time.Since(begun))
	return nil
}

// end ends the session, and checks that its stream ends.
func (s *session) end() error {
	begun := time.Now()
	head, err := s.client.ask(eras.Delete(s.id))
	if err == nil {
		_, err = s.client.conn.Body()
	}
	if err != nil {
		return fmt.Errorf("end session: %w", err)
	}
	if head.Status < 200 || head.Status > 299 {
		return fmt.Errorf("end session: status %d", head.Status)
	}
	for {
		select {
		case _, ok := <-s.heard:
			if ok {
				continue
			}
			if !errors.Is(s.ended, io.EOF) {
				return fmt.Errorf("stream of an ended session: %w", s.ended)
			}
			s.client.report.took(ended, time.Since(begun))
			return nil
		case <-time.After(patience):
			return errors.New("the stream does not end with its session")
		}
	}
}

// close closes the stream's connection.
func (s *session) close() {
	s.stream.Close()
	for range s.heard { // until listen has returned
	}
}

// listener subscribes to a resource without a session, and changes it.
func (c *client) listener() error {
	era := eras.Stateless()
	conn, err := c.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	request := eras.Request{ID: c.id(), Method: "subscriptions/listen", Params: fmt.Sprintf(`"notifications":{"resourceSubscriptions":[%q]}`, c.note())}
	head, err := conn.Ask(era.Post(request))
	if err := streams("listen", head, err); err != nil {
		return err
	}
	events := conn.Events()
	if err := expect(events, "notifications/subscriptions/acknowledged", ""); err != nil {
		return err
	}
	for range 20 {
		if c.over() {
			break
		}
		conn.SetDeadline(time.Now().Add(patience))
		begun := time.Now()
		if err := c.touch(era, ""); err != nil {
			return err
		}
		if err := expect(events, "notifications/resources/updated", c.note()); err != nil {
			return err
		}
		c.report.took(updateOverListen, time.Since(begun))
		c.pause(50 * time.Millisecond)
	}
	return nil
}

// expect reads the next message of a stream and checks it.
func expect(events *raw.Stream, method, uri string) error {
	for {
		event, err := events.Next()
		if err != nil {
			return fmt.Errorf("wait for %s: %w", method, err)
		}
		if len(event.Data) == 0 {
			continue
		}
		var m message
		if err := json.Unmarshal(event.Data, &m); err != nil {
			return err
		}
		if m.Method != method || m.Params.URI != uri {
			return fmt.Errorf("got %s, want %s", event.Data, method)
		}
		return nil
	}
}
