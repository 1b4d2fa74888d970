package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
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
		conn := NewConn(NewLines(in, out, LinesOptions{}), Options{Logger: slog.New(slog.DiscardHandler), Handle: func(ctx context.Context, req *Request) (any, error) {
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
			conn := NewConn(NewLines(strings.NewReader(in.String()), out, LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
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

// stuckWriter blocks until it is released.
type stuckWriter struct {
	letGo chan struct{}
	once  sync.Once
}

func (w *stuckWriter) Write(p []byte) (int, error) {
	<-w.letGo
	return len(p), nil
}

func (w *stuckWriter) unstick() { w.once.Do(func() { close(w.letGo) }) }

func TestPeerThatDoesNotReadHoldsSendersBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{letGo: make(chan struct{})}
		l := &lineWriter{w: w}
		msg := bytes.Repeat([]byte("x"), 10_000)
		var mu sync.Mutex
		sent := 0
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				for range 100 {
					if err := l.send(msg); err != nil {
						t.Error(err)
					}
					mu.Lock()
					sent++
					mu.Unlock()
				}
			})
		}
		synctest.Wait()
		l.mu.Lock()
		if len(l.waiting) > maxWaiting+len(msg)+1 {
			t.Errorf("%d bytes are waiting, want at most %d", len(l.waiting), maxWaiting+len(msg)+1)
		}
		l.mu.Unlock()
		if sent > 2*(maxWaiting/len(msg)+1) { // one buffer is being written, one waits
			t.Errorf("sent = %v, want at most %v", sent, 2*(maxWaiting/len(msg)+1))
		}
		w.unstick()
		wg.Wait()
		if sent != 2000 {
			t.Errorf("sent = %v, want 2000", sent)
		}
	})
}

func TestCloseWhileSendersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuckWriter{letGo: make(chan struct{})}
		l := &lineWriter{w: w}
		big := bytes.Repeat([]byte("x"), maxWaiting+1)
		failed := make(chan error, 10)
		for range 5 {
			go func() { failed <- l.send(big) }()
			synctest.Wait()
		}
		start := time.Now()
		if err := l.close(time.Second); err == nil || time.Since(start) != time.Second {
			t.Errorf("close: %v after %v; want an error after %v", err, time.Since(start), time.Second)
		}
		// One is being written, one waits in the buffer, and three senders are blocked.
		synctest.Wait()
		if len(failed) != 5 {
			t.Errorf("%d sends failed, want 5: %v", len(failed), failed)
		}
		w.unstick()
		refused := 0
		for range 5 {
			if errors.Is(<-failed, ErrClosed) {
				refused++
			}
		}
		if refused < 3 {
			t.Errorf("refused = %v, want at least 3", refused)
		}
		if err := l.send([]byte("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("a later send: got %v, want %v", err, ErrClosed)
		}
	})
}

func TestCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &slowWriter{t: t}
		l := NewLines(strings.NewReader(""), out, LinesOptions{})
		go func() { _ = l.Send([]byte(`1`)) }()
		synctest.Wait()
		for _, msg := range []string{`2`, `3`} {
			if err := l.Send([]byte(msg)); err != nil {
				t.Error(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if out.String() != "1\n2\n3\n" || out.writes != 2 {
			t.Errorf(`%d writes of %q; want 2 writes of "1\n2\n3\n"`, out.writes, out.String())
		}
	})
}

// close returns the error of a write that no sender waited for.
func TestCloseReportsWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken pipe")
		r, w := io.Pipe()
		l := &lineWriter{w: w}
		go func() { _ = l.send([]byte(`1`)) }()
		synctest.Wait()
		if err := l.send([]byte(`2`)); err != nil {
			t.Error(err)
		}
		_, _ = r.Read(make([]byte, 10))
		r.CloseWithError(broken)
		synctest.Wait()
		if err := l.close(time.Second); !errors.Is(err, broken) {
			t.Errorf("close: got %v, want %v", err, broken)
		}
		if err := l.send([]byte(`3`)); !errors.Is(err, broken) {
			t.Errorf("a later send: got %v, want %v", err, broken)
		}
	})
}
