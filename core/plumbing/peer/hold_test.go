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

// linkStreams runs two connections with the same handler over unbuffered streams, until stop is
// called.
func linkStreams(t testing.TB, handle func(context.Context, *Request) (any, error)) (left, right *Conn, stop func()) {
	inLeft, outRight := io.Pipe()
	inRight, outLeft := io.Pipe()
	o := Options{Handle: handle, Logger: slog.New(slog.DiscardHandler)}
	left = NewConn(jsonrpc.NewLines(inLeft, outLeft, jsonrpc.LinesOptions{}), o)
	right = NewConn(jsonrpc.NewLines(inRight, outRight, jsonrpc.LinesOptions{}), o)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _ = left.Run(ctx) })
	wg.Go(func() { _ = right.Run(ctx) })
	return left, right, func() { cancel(); wg.Wait() }
}

// safeBuffer may be read and written concurrently.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// Held messages are sent when Receive has no more lines.
func TestNothingIsHeldForLong(t *testing.T) {
	request := func(id int, method string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"%s"}`+"\n", id, method)
	}
	for _, test := range []struct {
		name, input  string
		atOnce, soon []string
	}{
		{"all answered", request(1, "m") + request(2, "m"), []string{`1 {}`, `2 {}`}, nil},
		{"last is a notification", request(1, "m") + `{"jsonrpc":"2.0","method":"m"}` + "\n", []string{`1 {}`}, nil},
		{"last is a response", request(1, "m") + `{"jsonrpc":"2.0","id":1,"result":1}` + "\n", []string{`1 {}`}, nil},
		{"half a line follows", request(1, "m") + request(2, "m")[:10], []string{`1 {}`}, nil},
		{"blank lines follow", request(1, "m") + "\n\n \n", []string{`1 {}`}, nil},
		{"then one that keeps the order", request(1, "m") + request(2, "block") + request(3, "m"), nil, []string{`1 {}`}},
		{"then one that may take long", request(1, "m") + request(2, "declare") + request(3, "m"), nil, []string{`1 {}`, `3 {}`}},
		{"then one that is released", request(1, "m") + request(2, "release") + request(3, "m"), []string{`1 {}`, `3 {}`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				out := &safeBuffer{}
				in, requests := io.Pipe()
				pass := make(chan struct{})
				conn := NewConn(jsonrpc.NewLines(in, out, jsonrpc.LinesOptions{}), Options{Handle: func(ctx context.Context, req *Request) (any, error) {
					switch req.Method() {
					case "release":
						req.Release()
						<-pass
					case "declare":
						req.allowConcurrent()
						<-pass
					case "block":
						<-pass
					}
					return struct{}{}, nil
				}})
				done := make(chan error, 1)
				go func() { done <- conn.Run(t.Context()) }()
				_, _ = io.WriteString(requests, test.input)
				synctest.Wait()
				equal(t, gists(t, out.String()), test.atOnce...)
				time.Sleep(2 * maxTurn)
				synctest.Wait()
				equal(t, gists(t, out.String()), append(test.atOnce, test.soon...)...)
				// While an ordered request runs, messages of other senders are not held back.
				if err := conn.Notify(t.Context(), "n", nil); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if !strings.HasSuffix(out.String(), `"method":"n"}`+"\n") {
					t.Errorf("the output is %q, want the notification %q at its end", out.String(), `"method":"n"}`+"\n")
				}
				close(pass)
				requests.Close()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A burst does not hold back all of its large answers.
func TestLongBurstIsWrittenMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 20
		out := &safeBuffer{}
		var input strings.Builder
		for i := range n {
			fmt.Fprintf(&input, `{"jsonrpc":"2.0","id":%d,"method":"m"}`+"\n", i)
		}
		served := 0
		conn := NewConn(jsonrpc.NewLines(strings.NewReader(input.String()), out, jsonrpc.LinesOptions{}), Options{Handle: func(context.Context, *Request) (any, error) {
			if served++; served == n {
				synctest.Wait()
				if len(out.String()) < n/2*10_000 {
					t.Errorf("the output has %d bytes, want at least %d", len(out.String()), n/2*10_000)
				}
			}
			return strings.Repeat("x", 10_000), nil
		}})
		if err := conn.Run(t.Context()); err != nil || len(gists(t, out.String())) != n {
			t.Errorf("Run: %v, %d answers; want no error and %d answers", err, len(gists(t, out.String())), n)
		}
	})
}
