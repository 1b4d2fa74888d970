package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
	"github.com/petrock/petrock/bench/internal/raw"
)

// openSessions is how many sessions the memory is measured for.
const openSessions = 1000

// measureSessions opens many sessions on a fresh server, first without and then with a stream that
// waits for what the server has to say, and takes down what memory it has each time: as it is, and
// once its garbage is collected.
func measureSessions(ctx context.Context, s server, r *results) error {
	p, err := serve(ctx, s, eras.Handshake(), fmt.Sprintf("holding %d sessions", openSessions), 6*patience)
	if err != nil {
		return err
	}
	defer p.kill()
	sessions, err := p.openMany(openSessions)
	if err != nil {
		return err
	}
	if err := p.noteMemory(r, sessionsRSS, sessionsFree); err != nil {
		return err
	}
	streams := make([]*raw.Conn, 0, len(sessions))
	defer func() {
		for _, c := range streams {
			c.Close()
		}
	}()
	for _, session := range sessions {
		c, err := p.dial()
		if err != nil {
			return err
		}
		streams = append(streams, c)
		head, err := c.Ask(eras.Listen(session, ""))
		if err == nil && (head.Status != http.StatusOK || !head.Events) {
			err = fmt.Errorf("status %d for the stream of a session", head.Status)
		}
		if err != nil {
			return p.failed(err)
		}
	}
	return p.noteMemory(r, streamsRSS, streamsFree)
}

// openMany opens sessions, over few connections, which are then closed.
func (p *served) openMany(n int) ([]string, error) {
	const each = 100
	var sessions []string
	for len(sessions) < n {
		c, err := p.dial()
		if err != nil {
			return nil, err
		}
		for range min(each, n-len(sessions)) {
			session, err := openSession(c)
			if err != nil {
				c.Close()
				return nil, p.failed(err)
			}
			sessions = append(sessions, session)
		}
		c.Close()
	}
	return sessions, nil
}

// noteMemory takes down what memory the server has: as it is, and once its garbage is collected.
func (p *served) noteMemory(r *results, asItIs, free string) error {
	const settle = 50 * time.Millisecond // connections that were just closed are still being put away
	time.Sleep(settle)
	rss, err := residentMemory(p.cmd.Process.Pid)
	if err != nil {
		return err
	}
	r.add(p.server.name, asItIs, float64(rss)/1e6)
	if _, err := p.holding(); err != nil {
		return err
	}
	if rss, err = residentMemory(p.cmd.Process.Pid); err != nil {
		return err
	}
	r.add(p.server.name, free, float64(rss)/1e6)
	return nil
}
