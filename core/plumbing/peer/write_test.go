package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

// slowWriter takes a millisecond for each write, and counts them.
type slowWriter struct {
	bytes.Buffer
	writes int
	busy   sync.Mutex
	t      testing.TB
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if !w.busy.TryLock() {
		w.t.Error("two writes at once: w.busy.TryLock() = false, want true")
	}
	defer w.busy.Unlock()
	w.writes++
	time.Sleep(time.Millisecond)
	return w.Buffer.Write(p)
}

func TestMessagesDoNotInterleave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{t: t}
		in, requests := io.Pipe()
		conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
			req.Release()
			return echo(ctx, req)
		}})
		done := make(chan error, 1)
		go func() { done <- conn.Run(t.Context()) }()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				params := []string{strings.Repeat("x", i*100), "line\nbreak"}
				if err := conn.Notify(t.Context(), "m", params); err != nil {
					t.Error(err)
				}
			})
		}
		for i := range 50 {
			fmt.Fprintf(requests, `{"jsonrpc":"2.0","id":%d,"method":"m","params":["%s"]}`+"\n", i, strings.Repeat("y", i*100))
		}
		wg.Wait()
		requests.Close()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
		if n := len(gists(t, out.String())); n != 100 {
			t.Errorf("got %d messages, want 100", n)
		}
	})
}

func TestBurstTakesFewWrites(t *testing.T) {
	const n = 1000
	var in strings.Builder
	for i := range n {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
	}
	for name, begin := range map[string]func(*Request){
		"ordered": func(*Request) {}, "declared": (*Request).allowConcurrent, "released": (*Request).Release,
	} {
		synctest.Test(t, func(t *testing.T) {
			out := &slowWriter{t: t}
			conn := NewConn(jsonrpc.NewLines(strings.NewReader(in.String()), out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
				begin(req)
				return echo(ctx, req)
			}})
			if err := conn.Run(t.Context()); err != nil {
				t.Errorf("%s: Run: %v", name, err)
			}
			if got := len(gists(t, out.String())); got != n {
				t.Errorf("%s: got %d messages, want %d", name, got, n)
			}
			if out.writes > n/100 {
				t.Errorf("%s: %d messages took %d writes, want at most %d", name, n, out.writes, n/100)
			}
		})
	}
}
