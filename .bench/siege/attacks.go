package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/bench/internal/raw"
)

// An attack is a behaviour of hostile connections. When one is closed, another one is opened.
type attack struct {
	name string
	on   func(a *attacker) error
}

// An attacker is one hostile connection.
type attacker struct {
	*raw.Conn
	number  int
	session string // shared by all attackers
	over    <-chan struct{}
}

// Pauses after small and large requests. Attackers pause because they share the CPUs with the
// server.
const (
	breath = 50 * time.Millisecond
	rest   = 2 * time.Second
)

// attack starts an attack. ended is closed when all its connections are closed.
func (s *server) attack(ctx context.Context, kind attack, conns int) (ended <-chan struct{}) {
	session := s.newSession()
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				conn, err := net.DialTimeout("tcp", s.addr, time.Second)
				if err == nil {
					stop := context.AfterFunc(ctx, func() { conn.Close() })
					_ = kind.on(&attacker{raw.New(conn), i + n*conns, session, ctx.Done()}) // the server refuses it sooner or later
					stop()
					conn.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(breath):
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { defer close(done); all.Wait() }()
	return done
}

// newSession opens a session for the attackers. It returns "" if that fails.
func (s *server) newSession() string {
	conn, err := raw.Dial(s.addr)
	if err != nil {
		return ""
	}
	defer conn.Close()
	head, _, err := conn.Do(post(hostileKey, "", initialize("siege")))
	if err != nil {
		return ""
	}
	_, _, _ = conn.Do(post(hostileKey, head.Session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	return head.Session
}

func initialize(name string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"` + name + `","version":"1"}}}`
}

func header(key, session string, length int) string {
	text := "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	if key != "" {
		text += "X-Api-Token: " + key + "\r\n"
	}
	if session != "" {
		text += "Mcp-Session-Id: " + session + "\r\n"
	}
	return text + fmt.Sprintf("Content-Length: %d\r\n\r\n", length)
}

func post(key, session, body string) []byte { return []byte(header(key, session, len(body)) + body) }

// attacks returns all attacks. Some of them have stopped earlier versions of the server.
func attacks() []attack {
	large := strings.Repeat("x", 900_000)
	body := []byte(strings.Repeat(" ", 1<<20-1))
	fields := strings.Repeat("X-Header: "+strings.Repeat("x", 1000)+"\r\n", 58)
	return []attack{
		{"unread-refusals", func(a *attacker) error { return a.flood(post("", "", `{}`)) }},
		{"unread-answers", func(a *attacker) error {
			return a.flood(post(hostileKey, a.session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		}},
		{"unread-large-answers", func(a *attacker) error { // one after another, because the memory of tools is not limited by the server
			time.Sleep(time.Duration(a.number%250) * breath)
			_, err := a.Write(post(hostileKey, a.session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"big"}}`, a.number)))
			time.Sleep(10 * rest)
			return err
		}},
		{"unread-health", func(a *attacker) error { return a.flood([]byte("GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) }},
		{"questions-without-answers", func(a *attacker) error {
			_, err := a.Write(post(hostileKey, a.session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"asks"}}`, a.number)))
			time.Sleep(breath)
			return err
		}},
		{"short-subscriptions", func(a *attacker) error { return a.subscribe("", breath) }},
		{"long-subscriptions", func(a *attacker) error { return a.subscribe(large, rest) }},
		{"unfinished-bodies", func(a *attacker) error {
			_, err := io.WriteString(a, header(hostileKey, a.session, 1<<20))
			if err == nil {
				_, err = a.Write(body)
			}
			err = a.linger(err)
			time.Sleep(rest)
			return err
		}},
		{"unfinished-headers", func(a *attacker) error {
			_, err := io.WriteString(a, "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"+fields)
			return a.linger(err)
		}},
		{"large-clients", func(a *attacker) error {
			for {
				time.Sleep(rest)
				if _, _, err := a.Do(post(hostileKey, "", initialize(large))); err != nil {
					return err
				}
			}
		}},
		{"many-sessions", func(a *attacker) error {
			for {
				time.Sleep(breath)
				if _, _, err := a.Do(post(hostileKey, "", initialize("x"))); err != nil {
					return err
				}
			}
		}},
		{"unread-streams", func(a *attacker) error {
			_, err := io.WriteString(a, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nX-Api-Token: "+hostileKey+"\r\nMcp-Session-Id: "+a.session+"\r\n\r\n")
			return a.linger(err)
		}},
		{"new-connections", func(a *attacker) error { // a thousand per second, which stay open
			for {
				conn, err := net.DialTimeout("tcp", a.RemoteAddr().String(), time.Second)
				if err != nil {
					return err
				}
				go func() {
					_ = conn.SetReadDeadline(time.Now().Add(10 * time.Second))
					_, _ = io.Copy(io.Discard, conn)
					conn.Close()
				}()
				select {
				case <-a.over:
					return nil
				case <-time.After(5 * breath):
				}
			}
		}},
		{"silence", func(a *attacker) error { return a.linger(nil) }},
	}
}

// flood sends requests and reads nothing.
func (a *attacker) flood(request []byte) error {
	many := []byte(strings.Repeat(string(request), 50))
	for {
		if _, err := a.Write(many); err != nil {
			return err
		}
	}
}

func (a *attacker) subscribe(tail string, pause time.Duration) error {
	for n := 0; ; n++ {
		time.Sleep(pause)
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://%d/%d/%s"}}`, a.number, n, tail)
		if _, _, err := a.Do(post(hostileKey, a.session, body)); err != nil {
			return err
		}
	}
}

// linger waits until the server closes the connection.
func (a *attacker) linger(err error) error {
	if err == nil {
		_, err = io.Copy(io.Discard, a)
	}
	return err
}
