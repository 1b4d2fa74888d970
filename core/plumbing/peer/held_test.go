package peer

import (
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

	"github.com/petrock/petrock/core/jsonrpc"
)

// A failed write ends the connection, even if no sender waited for it.
func TestWriteFailsBehindABurst(t *testing.T) {
	request, notification := `{"jsonrpc":"2.0","id":1,"method":"m"}`+"\n", `{"jsonrpc":"2.0","method":"m"}`+"\n"
	for _, input := range []string{request, request + strings.Replace(request, "1", "2", 1), request + notification} {
		synctest.Test(t, func(t *testing.T) {
			in, w := io.Pipe()
			gone := errors.New("gone")
			conn := NewConn(jsonrpc.NewLines(in, failingWriter{gone}, jsonrpc.LinesOptions{}), Options{Handle: echo, Logger: slog.New(slog.DiscardHandler)})
			done := make(chan error, 1)
			go func() { done <- conn.Run(t.Context()) }()
			if _, err := io.WriteString(w, input); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-done:
				if !errors.Is(err, gone) {
					t.Errorf("Run: got %v, want %v", err, gone)
				}
			case <-time.After(time.Minute):
				t.Errorf("Run goes on although nothing can be written, after\n%s", input)
				w.Close()
				<-done
			}
		})
	}
}

// noticing is a writer that reports its first write.
type noticing struct {
	once sync.Once
	at   time.Time
}

func (n *noticing) Write(p []byte) (int, error) {
	n.once.Do(func() { n.at = time.Now() })
	return len(p), nil
}

// In a long burst of quick requests, answers are sent before the burst ends.
func TestLongBurstSendsAnswers(t *testing.T) {
	for _, behind := range []string{`,"id":%d`, ``} {
		synctest.Test(t, func(t *testing.T) {
			var in strings.Builder
			in.WriteString(`{"jsonrpc":"2.0","id":"first","method":"m"}` + "\n")
			for i := 0; in.Len() < 60_000; i++ {
				id := behind
				if id != "" {
					id = fmt.Sprintf(behind, i)
				}
				in.WriteString(`{"jsonrpc":"2.0","method":"m"` + id + "}\n")
			}
			out := &noticing{}
			conn := NewConn(jsonrpc.NewLines(strings.NewReader(in.String()), out, jsonrpc.LinesOptions{}), Options{
				Logger: slog.New(slog.DiscardHandler),
				Handle: func(context.Context, *Request) (any, error) {
					time.Sleep(200 * time.Microsecond)
					return struct{}{}, nil
				},
			})
			began := time.Now()
			if err := conn.Run(t.Context()); err != nil {
				t.Error(err)
			}
			if took := out.at.Sub(began); took > 2*time.Millisecond {
				t.Errorf("the first answer left after %v, want at most %v", took, 2*time.Millisecond)
			}
		})
	}
}

// A function of AfterAnswer may take long without blocking the next message.
func TestLongAfterAnswer(t *testing.T) {
	for _, behind := range []string{"", "\n"} { // a blank line makes it a burst
		synctest.Test(t, func(t *testing.T) {
			in, w := io.Pipe()
			out := &safeBuffer{}
			pass := make(chan struct{})
			conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{
				Logger: slog.New(slog.DiscardHandler),
				Handle: func(_ context.Context, req *Request) (any, error) {
					if req.Method() == "slow" {
						req.AfterAnswer(func() { <-pass })
					}
					return struct{}{}, nil
				},
			})
			done := make(chan error, 1)
			go func() { done <- conn.Run(t.Context()) }()
			io.WriteString(w, `{"jsonrpc":"2.0","id":1,"method":"slow"}`+"\n"+behind)
			go io.WriteString(w, `{"jsonrpc":"2.0","id":2,"method":"m"}`+"\n")
			time.Sleep(time.Second)
			synctest.Wait()
			if !strings.Contains(out.String(), `"id":2`) {
				t.Errorf(`the output is %q, want the answer to "id":2 while the first is held`, out.String())
			}
			close(pass)
			w.Close()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}
