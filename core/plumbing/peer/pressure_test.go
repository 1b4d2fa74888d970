package peer

import (
	"bytes"
	"context"
	"fmt"
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

// steadyWriter takes nearly a second to write 64 KiB.
type steadyWriter struct{ bytes.Buffer }

func (w *steadyWriter) Write(p []byte) (int, error) {
	time.Sleep(900 * time.Millisecond * time.Duration(len(p)) / (64 << 10))
	return w.Buffer.Write(p)
}

// A peer that reads slowly gets all messages.
func TestSlowPeerGetsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var input strings.Builder
		for i := range 40 {
			fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"m","params":["%s"]}`+"\n", i, strings.Repeat("x", 20_000))
		}
		out := &steadyWriter{}
		conn := NewConn(jsonrpc.NewLines(strings.NewReader(input.String()), out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			return echo(ctx, req)
		}})
		if err := conn.Run(t.Context()); err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := len(gists(t, out.String())); n != 40 {
			t.Errorf("got %d answers, want 40", n)
		}
	})
}

// The connection stops reading from a peer that does not read.
func TestPeerThatDoesNotReadIsNotReadFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, requests := io.Pipe()
		fromConn, out := io.Pipe() // not read yet
		conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			return echo(ctx, req)
		}})
		done := make(chan error, 1)
		go func() { done <- conn.Run(t.Context()) }()
		line := []byte(`{"jsonrpc":"2.0","method":"m","id":1,"params":["` + strings.Repeat("x", 10_000) + `"]}` + "\n")
		sent := 0
		go func() {
			for ; sent < 10_000; sent++ {
				request := bytes.Replace(line, []byte(`"id":1`), fmt.Appendf(nil, `"id":%d`, sent), 1)
				if _, err := requests.Write(request); err != nil {
					return
				}
			}
			requests.Close()
		}()
		synctest.Wait()
		if sent > 1000 { // twice maxWaiting, and calls in progress: more on a busy machine
			t.Errorf("%d lines of %d bytes were sent, want at most 1000", sent, len(line))
		}
		// When the peer reads, the connection continues.
		var all bytes.Buffer
		go io.Copy(&all, fromConn)
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		synctest.Wait()
		if n := bytes.Count(all.Bytes(), []byte("\n")); n != 10_000 {
			t.Errorf("got %d lines, want 10000", n)
		}
	})
}

// Two peers call each other from their handlers, over unbuffered streams. Each must read before its
// own call has been read.
func TestCallsCrossOnUnbufferedStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inA, outB := io.Pipe()
		inB, outA := io.Pipe()
		var conns [2]*Conn
		ready := make(chan struct{}) // closed when both handlers are about to call
		for i, lines := range []*jsonrpc.Lines{jsonrpc.NewLines(inA, outA, jsonrpc.LinesOptions{}), jsonrpc.NewLines(inB, outB, jsonrpc.LinesOptions{})} {
			conns[i] = NewConn(lines, Options{Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
				if req.Method() == "leaf" {
					req.Release()
					return struct{}{}, nil
				}
				<-ready
				return struct{}{}, conns[i].Call(ctx, "leaf", nil, nil)
			}})
		}
		ctx, stop := context.WithCancel(t.Context())
		var running, calling sync.WaitGroup
		for _, conn := range conns {
			running.Go(func() { _ = conn.Run(ctx) })
			calling.Go(func() {
				if err := conn.Call(ctx, "root", nil, nil); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		close(ready)
		calling.Wait()
		stop()
		running.Wait()
	})
}

// After a burst of concurrent requests, only a few of their goroutines remain.
func TestBurstLeavesFewGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	ours, theirs := jsonrpc.Pipe()
	all := make(chan struct{})
	conn := NewConn(theirs, Options{Logger: slog.New(slog.DiscardHandler), Handle: func(_ context.Context, req *Request) (any, error) {
		req.Release()
		<-all
		return struct{}{}, nil
	}})
	done := make(chan error, 1)
	go func() { done <- conn.Run(t.Context()) }()
	const n = 500
	for i := range n {
		_ = ours.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m"}`, i))
	}
	close(all)
	for range n {
		if _, err := ours.Receive(); err != nil {
			t.Fatal(err)
		}
	}
	const few = 10
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before+few && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if left := runtime.NumGoroutine() - before; left > few {
		t.Errorf("runtime.NumGoroutine() - before = %v, want at most %v", left, few)
	}
	_ = ours.Close()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
}

// A handler that notifies a peer that does not read waits only until its request ends.
func TestNotifyEndsWithTheRequest(t *testing.T) {
	for name, end := range map[string]func(conn *Conn, stop func()){
		"cancelled":           func(conn *Conn, _ func()) { conn.Cancel(jsonrpc.IntID(1)) },
		"the connection ends": func(_ *Conn, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, requests := io.Pipe()
				fromConn, out := io.Pipe() // never read
				returned := make(chan struct{})
				conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Grace: time.Second, Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
					defer close(returned)
					for req.Notify(ctx, "n", []string{strings.Repeat("x", 100_000)}) == nil {
					}
					return struct{}{}, nil
				}})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- conn.Run(ctx) }()
				if _, err := io.WriteString(requests, `{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				end(conn, stop)
				time.Sleep(time.Second)
				synctest.Wait()
				select {
				case <-returned:
				default:
					t.Error("the handler still waits a second after the end, want it to have returned")
				}
				stop()
				fromConn.Close()
				requests.Close()
				<-done
			})
		})
	}
}
