package peer

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/jsonrpc"
)

// gate is a handler that blocks each request until the test lets it pass.
type gate struct {
	release bool
	mu      sync.Mutex
	begun   []string
	pass    chan struct{}
}

func (g *gate) handle(_ context.Context, req *Request) (any, error) {
	if g.release {
		req.Release()
		req.Release() // further calls do nothing
	}
	g.mu.Lock()
	g.begun = append(g.begun, req.Method())
	g.mu.Unlock()
	<-g.pass
	return struct{}{}, nil
}

func (g *gate) count() int {
	synctest.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.begun)
}

func TestOrderIsKeptUntilReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{})}
		p := newPeer(t, Options{Handle: g.handle})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"jsonrpc":"2.0","method":"b"}`, `{"jsonrpc":"2.0","id":2,"method":"c"}`)
		for i := range 3 {
			if n := g.count(); n != i+1 {
				t.Fatalf("%d handlers have begun, want %d", n, i+1)
			}
			g.pass <- struct{}{}
		}
		equal(t, g.begun, "a", "b", "c")
		p.expect(`1 {}`, `2 {}`)
		p.end()
	})
}

func TestReleasedRequestsRunConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{}), release: true}
		p := newPeer(t, Options{Handle: g.handle})
		for i := range 50 {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"m"}`, i))
		}
		if n := g.count(); n != 50 {
			t.Errorf("%d requests were handled, want 50", n)
		}
		close(g.pass)
		p.end50()
	})
}

// end50 receives fifty answers in any order, and then ends the connection.
func (p *peer) end50() {
	seen := map[string]bool{}
	for range 50 {
		line, err := p.wire.Receive()
		if err != nil {
			p.t.Fatal(err)
		}
		seen[gist(p.t, line)] = true
	}
	if len(seen) != 50 {
		p.t.Errorf("len(seen) = %v, want 50", len(seen))
	}
	p.end()
}

func TestNotificationsKeepTheirOrder(t *testing.T) {
	const n = 1000
	var got []string
	done := make(chan struct{})
	left, _ := link(t, Options{}, Options{Handle: func(_ context.Context, req *Request) (any, error) {
		if got = append(got, string(req.Params())); len(got) == n {
			close(done)
		}
		return nil, nil
	}})
	for i := range n {
		if err := left.Notify(t.Context(), "m", []int{i}); err != nil {
			t.Fatal(err)
		}
	}
	<-done
	for i, params := range got {
		if params != fmt.Sprintf("[%d]", i) {
			t.Fatalf("message %d has the params %q, want %q", i, params, fmt.Sprintf("[%d]", i))
		}
	}
}

// countingTransport checks that one goroutine at a time receives.
type countingTransport struct {
	jsonrpc.Transport
	receiving atomic.Int32
	twice     atomic.Bool
}

func (c *countingTransport) Receive() ([]byte, error) {
	if c.receiving.Add(1) > 1 {
		c.twice.Store(true)
	}
	defer c.receiving.Add(-1)
	return c.Transport.Receive()
}

// A release during or after the return of the handler must not start a second reader.
func TestLateReleaseMakesNoSecondReader(t *testing.T) {
	for name, late := range map[string]func(*Conn, context.Context, *Request){
		"Release": func(_ *Conn, _ context.Context, req *Request) { req.Release() },
		"Call":    func(conn *Conn, ctx context.Context, _ *Request) { _ = conn.Call(ctx, "back", nil, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := jsonrpc.Pipe()
			counting := &countingTransport{Transport: theirs}
			var conn *Conn
			var wg sync.WaitGroup
			conn = NewConn(counting, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
				wg.Go(func() { late(conn, ctx, req) })
				return struct{}{}, nil
			}})
			done := make(chan error, 1)
			go func() { done <- conn.Run(t.Context()) }()
			for i := range 500 {
				if err := ours.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%d","method":"m"}`, i)); err != nil {
					t.Fatal(err)
				}
			}
			for answers := 0; answers < 500; {
				line, err := ours.Receive()
				if err != nil {
					t.Fatal(err)
				}
				if gist(t, line)[0] == '"' {
					answers++
				}
			}
			wg.Wait()
			ours.Close()
			if err := <-done; err != nil && name == "Release" {
				t.Errorf("Run after Release = %v, want no error", err)
			}
			if counting.twice.Load() {
				t.Error("two goroutines received at the same time, want one")
			}
		})
	}
}
