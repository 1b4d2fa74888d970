package peer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// other is a message whose handler shows that the connection continued to read.
const other = `{"jsonrpc":"2.0","method":"other"}`

type key struct{}

// A request is released by Release or, after allowConcurrent, when it is about to wait. Otherwise
// it is handled in order.
func TestHandOver(t *testing.T) {
	tests := []struct {
		name   string
		do     func(ctx context.Context, req *Request)
		atOnce bool // without waiting for the turn timer
		later  bool
	}{
		{"nothing", func(context.Context, *Request) {}, false, false},
		{"Release", func(_ context.Context, req *Request) { req.Release() }, true, true},
		{"Err", func(ctx context.Context, _ *Request) { _ = ctx.Err() }, false, false},
		{"Done", func(ctx context.Context, _ *Request) { ctx.Done() }, false, false},
		{"declared", func(_ context.Context, req *Request) { req.allowConcurrent() }, false, true},
		{"declared, Value", func(ctx context.Context, req *Request) {
			req.allowConcurrent()
			ctx.Value(key{})
			_ = context.WithoutCancel(ctx).Err()
		}, false, true},
		{"declared, Err", func(ctx context.Context, req *Request) { req.allowConcurrent(); _ = ctx.Err() }, false, true},
		{"declared, Done", func(ctx context.Context, req *Request) { req.allowConcurrent(); ctx.Done() }, true, true},
		{"declared, Done of a value", func(ctx context.Context, req *Request) {
			ctx = context.WithValue(ctx, key{}, 1)
			req.allowConcurrent()
			ctx.Done()
		}, true, true},
		{"declared, derived", func(ctx context.Context, req *Request) {
			req.allowConcurrent()
			_, cancel := context.WithTimeout(ctx, time.Hour)
			cancel()
		}, true, true},
		{"declared, AfterFunc", func(ctx context.Context, req *Request) {
			req.allowConcurrent()
			context.AfterFunc(ctx, func() {})
		}, true, true},
		{"declared late", func(_ context.Context, req *Request) {
			time.Sleep(time.Second) // longer than the turn timer runs
			req.allowConcurrent()
		}, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var others atomic.Int32
				pass := make(chan struct{})
				var released bool
				p := newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
					if req.Method() == "other" {
						others.Add(1)
						return nil, nil
					}
					test.do(ctx, req)
					<-pass
					released = req.turn.Load() == passedTurn
					return struct{}{}, nil
				}})
				p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`, other)
				synctest.Wait()
				if got := others.Load() == 1; got != test.atOnce {
					t.Errorf("the other message was handled at once: %t, want %t", got, test.atOnce)
				}
				time.Sleep(2 * time.Second)
				if got := others.Load() == 1; got != test.later {
					t.Errorf("the other message was handled later: %t, want %t", got, test.later)
				}
				close(pass)
				p.expect(`1 {}`)
				if released != test.later {
					t.Errorf("the request has passed its turn: %t, want %t", released, test.later)
				}
				p.end()
				if n := others.Load(); n != 1 {
					t.Errorf("the other message was handled %d times, want 1", n)
				}
			})
		})
	}
}

// A quick request is not released at its end, nor afterwards.
func TestQuickRequestIsNeverReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept *Request
		p := newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.allowConcurrent()
			kept = req
			return echo(ctx, req)
		}})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.expect(`1 {}`)
		synctest.Wait()
		kept.Release()
		if kept.turn.Load() == passedTurn {
			t.Error("the turn was passed after the handler had returned")
		}
		p.end()
	})
}

// The turn timer stops while nothing arrives, starts with the next request, and stops for good with
// Run.
func TestTurnTimerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{})
		w := &p.conn.turns
		for range 3 {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
			p.expect(`1 {}`)
			if !w.running.Load() {
				t.Error("the timer does not run during a request, want it running")
			}
			time.Sleep(time.Second)
			if w.running.Load() {
				t.Error("the timer is marked as running without requests, want it stopped")
			}
			if w.timer.Stop() {
				t.Error("the timer is set without requests, want it stopped")
			}
		}
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.expect(`1 {}`)
		p.end()
		if w.timer.Stop() {
			t.Error("the timer is still set after Run, want it stopped")
		}
	})
}

// An answer that the peer has not read does not block reading while the buffer has room. Answers of
// ordered handlers keep their order.
func TestAnswersKeepTheirOrderWhileTheWriterBlocks(t *testing.T) {
	for _, size := range []int{10, 200_000} { // with room, and without
		synctest.Test(t, func(t *testing.T) {
			var input strings.Builder
			var want []string
			for i := range 20 {
				fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"m","params":[%d]}`+"\n", i, i)
				want = append(want, fmt.Sprintf(`%d "%s"`, i, strings.Repeat("x", size)))
			}
			out := &slowWriter{t: t}
			var begun []time.Duration
			start := time.Now()
			conn := NewConn(jsonrpc.NewLines(oneLine{strings.NewReader(input.String())}, out, jsonrpc.LinesOptions{}), Options{Handle: func(context.Context, *Request) (any, error) {
				begun = append(begun, time.Since(start))
				return strings.Repeat("x", size), nil
			}})
			if err := conn.Run(t.Context()); err != nil {
				t.Error(err)
			}
			equal(t, gists(t, out.String()), want...)
			if begun[4] >= time.Millisecond {
				t.Errorf("request 4 began after %v, want less than %v: the reading waited for the first write", begun[4], time.Millisecond)
			}
		})
	}
}

// oneLine reads at most one line at a time, so that there is no burst.
type oneLine struct{ r *strings.Reader }

func (o oneLine) Read(p []byte) (int, error) {
	for i := range p {
		c, err := o.r.ReadByte()
		if err != nil {
			return i, err
		}
		if p[i] = c; c == '\n' {
			return i + 1, nil
		}
	}
	return len(p), nil
}

func TestMaxInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{pass: make(chan struct{}), release: true}
		p := newPeer(t, Options{Handle: g.handle, MaxInFlight: 2})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","id":2,"method":"m"}`, `{"jsonrpc":"2.0","id":3,"method":"m"}`)
		line, err := p.wire.Receive()
		if err != nil || gist(t, line) != `3 error -32603` || !strings.Contains(string(line), "too many requests in flight") {
			t.Errorf(`got %s, %v; want no error and 3 error -32603 with "too many requests in flight"`, line, err)
		}
		// Notifications and responses are not limited.
		called := make(chan error, 1)
		go func() { called <- p.conn.Call(t.Context(), "back", nil, nil) }()
		p.expect(`1 "back" `)
		p.send(`{"jsonrpc":"2.0","method":"n"}`, `{"jsonrpc":"2.0","id":1,"result":null}`)
		if err := <-called; err != nil {
			t.Error(err)
		}
		if n := g.count(); n != 3 {
			t.Errorf("%d handlers have begun, want two of requests and one of a notification", n)
		}
		close(g.pass)
		synctest.Wait()
		p.send(`{"jsonrpc":"2.0","id":4,"method":"m"}`)
		seen := map[string]bool{}
		for range 3 {
			line, _ := p.wire.Receive()
			seen[gist(t, line)] = true
		}
		if !seen[`1 {}`] || !seen[`2 {}`] || !seen[`4 {}`] {
			t.Errorf("the answers are %v, want `1 {}`, `2 {}` and `4 {}`", seen)
		}
		p.end()
	})
}

// Two peers flood each other with requests, over unbuffered streams and with ordered handlers. They
// do not deadlock.
func TestFloodInBothDirections(t *testing.T) {
	for _, declare := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			handle := func(ctx context.Context, req *Request) (any, error) {
				if declare {
					req.allowConcurrent()
				}
				return echo(ctx, req)
			}
			left, right, stop := linkStreams(t, handle)
			defer stop()
			defer time.AfterFunc(time.Minute, stop).Stop() // fails the calls, if they wait for each other
			var calls sync.WaitGroup
			for _, conn := range []*Conn{left, right} {
				for range 200 {
					calls.Go(func() {
						if err := conn.Call(t.Context(), "m", []string{strings.Repeat("x", 1000)}, nil); err != nil {
							t.Error(err)
						}
					})
				}
			}
			calls.Wait()
		})
	}
}

func TestAfterAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *peer
		tell := func(what string) func() {
			return func() { _ = p.conn.Notify(context.Background(), what, nil) }
		}
		p = newPeer(t, Options{Handle: func(_ context.Context, req *Request) (any, error) {
			req.AfterAnswer(tell("a"))
			req.AfterAnswer(tell("b"))
			switch req.Method() {
			case "cancelled":
				p.conn.Cancel(req.ID())
			case "error":
				return nil, errors.New("no")
			case "panic":
				req.AfterAnswer(func() { panic("afterwards") })
			}
			return struct{}{}, nil
		}})
		p.conn.SetDialect(Dialect{Batches: true})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		p.expect(`1 {}`, `- "a" `, `- "b" `)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"error"}`)
		p.expect(`1 error -32603`, `- "a" `, `- "b" `)
		p.send(`{"jsonrpc":"2.0","method":"m"}`, `{"jsonrpc":"2.0","id":2,"method":"cancelled"}`)
		p.expectNothing()
		p.send(`[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"cancelled"},{"jsonrpc":"2.0","id":3,"method":"m"}]`)
		p.expect(`[1 {}; 3 {}]`)
		p.send(`{"jsonrpc":"2.0","id":1,"method":"panic"}`, `{"jsonrpc":"2.0","id":2,"method":"m"}`)
		p.expect(`1 {}`, `- "a" `, `- "b" `, `2 {}`, `- "a" `, `- "b" `)
		p.end()
	})
}
