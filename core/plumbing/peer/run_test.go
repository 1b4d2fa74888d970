package peer

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

func TestRequestsInFlightFinishAfterEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		got := talk(t, Options{Handle: sleepy}, Dialect{}, sleep("1", 4)+"\n"+sleep("2", 1)+"\n"+sleep("3", 2))
		equal(t, got, `2 [1]`, `3 [2]`, `1 [4]`)
		if d := time.Since(start); d != 4*time.Second {
			t.Errorf("Run took %v, want %v", d, 4*time.Second)
		}
	})
}

func TestGraceEnds(t *testing.T) {
	for _, test := range []struct{ grace, want time.Duration }{{0, 5 * time.Second}, {2 * time.Second, 2 * time.Second}, {-1, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var cause error
			start := time.Now()
			got := talk(t, Options{Grace: test.grace, Handle: func(ctx context.Context, req *Request) (any, error) {
				req.Release()
				<-ctx.Done()
				cause = context.Cause(ctx)
				return nil, cause
			}}, Dialect{}, `{"jsonrpc":"2.0","id":1,"method":"m"}`)
			if d := time.Since(start); d != test.want || !errors.Is(cause, jsonrpc.ErrClosed) {
				t.Errorf("grace %v: it ended after %v by %v; want %v by %v", test.grace, d, cause, test.want, jsonrpc.ErrClosed)
			}
			equal(t, got, `1 error -32603`)
		})
	}
}

func TestHandlerThatIgnoresItsContext(t *testing.T) {
	for _, in := range []string{`{"jsonrpc":"2.0","id":1,"method":"m"}`, `{"jsonrpc":"2.0","method":"m"}`} {
		synctest.Test(t, func(t *testing.T) {
			stubborn := make(chan struct{})
			var log bytes.Buffer
			start := time.Now()
			got := talk(t, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), Handle: func(_ context.Context, req *Request) (any, error) {
				req.Release()
				<-stubborn
				return nil, nil
			}}, Dialect{}, in)
			if d := time.Since(start); d != 5*time.Second+lastWait {
				t.Errorf("Run took %v, want %v", d, 5*time.Second+lastWait)
			}
			equal(t, got)
			if strings.Contains(in, "id") && !strings.Contains(log.String(), "still running") {
				t.Errorf(`the log is %q, want it to contain "still running" for the input %s`, log.String(), in)
			}
			close(stubborn)
		})
	}
}

// Requests during the grace period go to the handler, after OnShutdown.
func TestRunEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ending := 0
		p := newPeer(t, Options{Handle: sleepy, OnShutdown: func() { ending++ }})
		p.send(sleep("1", 2), sleep("2", 60))
		synctest.Wait()
		if ending != 0 {
			t.Errorf("the end was announced %d times before it, want 0", ending)
		}
		p.stop()
		synctest.Wait()
		if ending != 1 {
			t.Errorf("the end was announced %d times, want 1", ending)
		}
		p.send(sleep("3", 0), `{"jsonrpc":"2.0","method":"m"}`)
		p.expect(`3 [0]`)
		p.send(`garbage`)
		p.expect(`- error -32700`)
		start := time.Now()
		p.expect(`1 [2]`, `2 error -32603`)
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("the grace period took %v, want %v", d, 5*time.Second)
		}
		if err := <-p.done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// With SkipGrace, the end of the context cancels requests immediately. It waits less than a second
// for those that ignore it.
func TestSkipGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{SkipGrace: true, Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, r *Request) (any, error) {
			time.Sleep(time.Minute)
			return nil, nil
		}})
		p.send(sleep("1", 60))
		synctest.Wait()
		start := time.Now()
		p.stop()
		if err := <-p.done; err != nil || time.Since(start) != lastWait {
			t.Errorf("Run: %v after %v; want no error after %v", err, time.Since(start), lastWait)
		}
		time.Sleep(time.Minute)
	})
}

// The end of the context ends the grace period that follows the end of the peer.
func TestContextEndsDuringTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Options{Handle: sleepy})
		p.send(sleep("1", 60))
		closeInput(p.wire)
		time.AfterFunc(time.Second, p.stop)
		start := time.Now()
		p.expect(`1 error -32603`)
		if err := <-p.done; err != nil || time.Since(start) != time.Second {
			t.Errorf("Run: %v after %v; want no error after %v", err, time.Since(start), time.Second)
		}
	})
}

// During the grace period after the end of the context, calls still get their answers. When the
// peer disconnects, they fail immediately.
func TestCallsDuringTheGrace(t *testing.T) {
	for _, answered := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var p *peer
			p = newPeer(t, Options{Handle: func(ctx context.Context, req *Request) (any, error) {
				return struct{}{}, p.conn.Call(ctx, "back", nil, nil)
			}})
			p.send(`{"jsonrpc":"2.0","id":7,"method":"m"}`)
			p.expect(`1 "back" `)
			p.stop()
			synctest.Wait()
			start := time.Now()
			if answered {
				p.send(`{"jsonrpc":"2.0","id":1,"result":null}`)
				p.expect(`7 {}`)
			} else {
				closeInput(p.wire)
				p.expect(`7 error -32603`)
			}
			if err := <-p.done; err != nil || time.Since(start) != 0 {
				t.Errorf("Run: %v after %v; want no error at once", err, time.Since(start))
			}
		})
	}
}

func TestWriteErrorEndsRun(t *testing.T) {
	broken := errors.New("broken pipe")
	if err := serveUntil(t, sentinel+"\n", failingWriter{broken}, Dialect{}); !errors.Is(err, broken) {
		t.Errorf("Run: got %v, want %v", err, broken)
	}
}

func TestWriteErrorCancelsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		var cause error
		more, requests := io.Pipe()
		conn := NewConn(jsonrpc.NewLines(more, failingWriter{broken}, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			if req.Method() == "wait" {
				req.Release()
				<-ctx.Done()
				cause = context.Cause(ctx)
			}
			return nil, nil
		}})
		done := make(chan error, 1)
		go func() { done <- conn.Run(t.Context()) }()
		start := time.Now()
		_, _ = io.WriteString(requests, `{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n"+sentinel+"\n")
		if err := <-done; !errors.Is(err, broken) || time.Since(start) != 0 {
			t.Errorf("Run: %v after %v; want %v at once", err, time.Since(start), broken)
		}
		if !errors.Is(cause, jsonrpc.ErrClosed) {
			t.Errorf("the cause: got %v, want %v", cause, jsonrpc.ErrClosed)
		}
		if err := conn.Call(t.Context(), "m", nil, nil); !errors.Is(err, jsonrpc.ErrClosed) {
			t.Errorf("Call: got %v, want %v", err, jsonrpc.ErrClosed)
		}
	})
}

// stuckPipe is a writer that blocks until it is closed.
type stuckPipe struct {
	closed chan struct{}
	once   sync.Once
}

func (w *stuckPipe) Write([]byte) (int, error) {
	<-w.closed
	return 0, io.ErrClosedPipe
}

func (w *stuckPipe) Close() error {
	w.once.Do(func() { close(w.closed) })
	return nil
}

func TestWriterThatBlocksDoesNotHoldRun(t *testing.T) {
	for _, release := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			in, requests := io.Pipe()
			w := &stuckPipe{closed: make(chan struct{})}
			conn := NewConn(jsonrpc.NewLines(in, w, jsonrpc.LinesOptions{}), Options{Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
				if release {
					req.Release()
				}
				return echo(ctx, req)
			}})
			go func() { _, _ = io.WriteString(requests, strings.Repeat(sentinel+"\n", 3)) }()
			start := time.Now()
			if err := conn.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
			if d := time.Since(start); d > time.Minute+10*time.Second {
				t.Errorf("Run took %v, want at most %v", d, time.Minute+10*time.Second)
			}
		})
	}
}

func TestRunFlushesBeforeItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{t: t}
		in := strings.Repeat(`{"jsonrpc":"2.0","method":"tell"}`+"\n", 20)
		var conn *Conn
		conn = NewConn(jsonrpc.NewLines(strings.NewReader(in), out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			return nil, conn.Notify(ctx, "told", nil)
		}})
		if err := conn.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(gists(t, out.String())); n != 20 {
			t.Errorf("got %d answers, want 20", n)
		}
	})
}

// synctest fails a test that leaks goroutines. This test checks the same without synctest.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		in, requests := io.Pipe()
		answers, out := io.Pipe()
		conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			return echo(ctx, req)
		}})
		ctx, stop := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = conn.Run(ctx) })
		wg.Go(func() { _, _ = io.Copy(io.Discard, answers) })
		for range 20 {
			_, _ = io.WriteString(requests, sentinel+"\n")
		}
		stop() // with the reader waiting for more
		wg.Wait()
	}
	for range 1_000_000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		runtime.Gosched()
	}
	buf := make([]byte, 64<<10)
	t.Errorf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), buf[:runtime.Stack(buf, true)])
}
