package client_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A slowTransport answers requests after delays, and records what the client sends.
type slowTransport struct {
	client.Link
	discover, initialize time.Duration
	discovered           string // the answer to server/discover, without the id

	start time.Time
	mu    sync.Mutex
	log   []string // "second event"
}

func (s *slowTransport) record(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf("%.0f %s", time.Since(s.start).Seconds(), event))
}

func (s *slowTransport) Open(_ context.Context, l client.Link) error {
	s.Link, s.start = l, time.Now()
	l.Conn.Open(context.Background())
	return nil
}

func (s *slowTransport) Via(session *client.Session, c client.Call) func(context.Context, func(), jsonrpc.ID, []byte) error {
	return func(ctx context.Context, done func(), id jsonrpc.ID, _ []byte) error {
		defer done()
		s.record(c.Method)
		delay, answer := s.discover, s.discovered
		if c.Method == "initialize" {
			delay, answer = s.initialize, `"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"slow","version":"1"}}`
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			s.record("cancelled " + c.Method)
			return context.Cause(ctx)
		}
		if c.Method == "initialize" {
			session.ID = "late"
		}
		var m jsonrpc.Message
		m.Parse(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, id, answer))
		s.Conn.Deliver(&m)
		return nil
	}
}

func (s *slowTransport) Notify(context.Context, *client.Session, string, any) error { return nil }
func (s *slowTransport) Begin(context.Context, *client.Session)                     {}
func (s *slowTransport) End(session *client.Session)                                { s.record("end " + session.ID) }
func (s *slowTransport) FilterTools(_ *client.Session, all []mcp.Tool) []mcp.Tool   { return all }
func (s *slowTransport) Explain(err error) error                                    { return err }
func (s *slowTransport) Close() error {
	skip := make(chan struct{})
	close(skip)
	s.Conn.Close(skip)
	return nil
}

// If server/discover and initialize are both sent, the client cancels or ends the slower one.
func TestSlowNegotiation(t *testing.T) {
	const (
		stateless = `"result":{"supportedVersions":["` + string(mcp.Latest) + `"],"capabilities":{}}`
		old       = `"result":{"supportedVersions":["2025-06-18"],"capabilities":{}}`
	)
	for _, test := range []struct {
		name                 string
		discover, initialize time.Duration
		discovered           string
		want                 mcp.Revision
		log                  []string
	}{
		{"discover is first", 5 * time.Second, 7 * time.Second, stateless, mcp.Latest,
			[]string{"0 server/discover", "3 initialize", "10 end late"}},
		{"initialize is first", time.Minute, time.Second, stateless, mcp.Revision20250618,
			[]string{"0 server/discover", "3 initialize", "4 cancelled server/discover"}},
		{"discover names an old revision", 5 * time.Second, 7 * time.Second, old, mcp.Revision20250618,
			[]string{"0 server/discover", "3 initialize"}},
		{"discover names an old revision early", time.Second, time.Second, old, mcp.Revision20250618,
			[]string{"0 server/discover", "1 initialize"}},
		{"neither in time", time.Hour, 35 * time.Second, stateless, "",
			[]string{"0 server/discover", "3 initialize", "30 cancelled initialize", "30 cancelled server/discover"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &slowTransport{discover: test.discover, initialize: test.initialize, discovered: test.discovered}
				c, err := client.Connect(t.Context(), s, client.Options{ConnectTimeout: 30 * time.Second})
				var got mcp.Revision
				if err == nil {
					got = c.Revision()
					defer c.Close()
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got != test.want {
					t.Errorf("Connect agrees on %q, %v; want %q", got, err, test.want)
				}
				if slices.Sort(s.log[2:]); !slices.Equal(s.log, test.log) {
					t.Errorf("the transport records %q, want %q", s.log, test.log)
				}
			})
		})
	}
}
