package mcphttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is an in-memory listener for tests with a fake clock.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

func newPipes() pipes { return pipes{make(chan net.Conn), make(chan struct{})} }

func (p pipes) Addr() net.Addr { return loopback() }

func (p pipes) Accept() (net.Conn, error) {
	select {
	case accepted := <-p.conns:
		return accepted, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error {
	select {
	case <-p.done:
	default:
		close(p.done)
	}
	return nil
}

// dial connects to the listener.
func (p pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

// runWithClock runs a test with its own server and a fake clock.
func runWithClock(t *testing.T, h endable, o ServeOptions, test func(t *testing.T, listener pipes, stop func() error)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		listener, ended := newPipes(), make(chan error, 1)
		o.Listener = listener
		go func() { ended <- serve(ctx, newService(t, h, Options{}), o) }()
		stopped := false
		stop := func() error {
			stopped = true
			cancel()
			return <-ended
		}
		test(t, listener, stop)
		if !stopped {
			if err := stop(); err != nil {
				t.Error(err)
			}
		}
	})
}

const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"

// Slow clients are disconnected after the timeout of each state.
func TestSlow(t *testing.T) {
	for _, test := range []struct {
		name   string
		sends  string
		status int // 0 if there is no answer
		after  time.Duration
	}{
		{"nothing comes", "", 0, 3 * time.Second},
		{"a slow header", head, 0, 3 * time.Second},
		{"a slow body", head + "\r\nhell", http.StatusRequestTimeout, 7 * time.Second},
		{"a slow chunk", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe", http.StatusRequestTimeout, 7 * time.Second},
		{"a slow body that is not read", "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhell", http.StatusNotFound, 7 * time.Second},
		{"a client that asks nothing more", head + "\r\nhello", http.StatusOK, 60 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			runWithClock(t, echo{}, ServeOptions{HeaderTimeout: 3 * time.Second, BodyTimeout: 7 * time.Second, Idle: time.Minute}, func(t *testing.T, listener pipes, _ func() error) {
				began := time.Now()
				conn := listener.dial()
				defer conn.Close()
				go io.WriteString(conn, test.sends)
				reader := bufio.NewReader(conn)
				response, err := http.ReadResponse(reader, nil)
				switch {
				case test.status == 0 && err == nil:
					t.Errorf("got the status %d, want a closed connection", response.StatusCode)
				case test.status != 0 && err != nil:
					t.Error(err)
				case test.status != 0 && response.StatusCode != test.status:
					t.Errorf("got the status %d, want %d", response.StatusCode, test.status)
				}
				io.Copy(io.Discard, reader)
				if took := time.Since(began); took < test.after || took > test.after+time.Second {
					t.Errorf("the connection ends after %v, want %v to a second later", took, test.after)
				}
			})
		})
	}
}

// A streaming handler reads the body, and writes a line every hour for a day.
type streaming struct{ echo }

func (streaming) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	for range 24 {
		select {
		case <-time.After(time.Hour):
		case <-r.Context().Done():
			return
		}
		io.WriteString(w, "hour\n")
		http.NewResponseController(w).Flush()
	}
}

// Handling a request has no timeout.
func TestLongAnswer(t *testing.T) {
	for name, request := range map[string]string{
		"POST":   head + "\r\nhello",
		"chunks": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"GET":    "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			runWithClock(t, streaming{}, ServeOptions{}, func(t *testing.T, listener pipes, _ func() error) {
				conn := listener.dial()
				defer conn.Close()
				go io.WriteString(conn, request)
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(response.Body)
				if n := strings.Count(string(text), "hour"); n != 24 || err != nil {
					t.Errorf("the stream went on for %d hours: %v; want 24 hours and no error", n, err)
				}
			})
		})
	}
}

// endless is a handler that never returns.
type endless struct{ ended chan error }

func (h endless) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	h.ended <- r.Context().Err()
}

func (endless) Shutdown(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// Calls that exceed the grace period are cancelled, and have a second to end.
func TestGrace(t *testing.T) {
	h := endless{make(chan error, 1)}
	runWithClock(t, h, ServeOptions{Grace: 20 * time.Second}, func(t *testing.T, listener pipes, stop func() error) {
		conn := listener.dial()
		defer conn.Close()
		io.WriteString(conn, head+"\r\nhello")
		synctest.Wait()
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 21*time.Second {
			t.Errorf("it took %v, want %v", took, 21*time.Second)
		}
		if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
			t.Error("the request was answered, want the connection closed")
		}
	})
	if err := <-h.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ends with %v, want %v", err, context.Canceled)
	}
}

// After the end of its context, the server is not ready, but serves for the drain period, and
// closes each connection after a response.
func TestDrain(t *testing.T) {
	o := ServeOptions{Drain: 3 * time.Second, Health: true}
	runWithClock(t, echo{}, o, func(t *testing.T, listener pipes, stop func() error) {
		get := func(conn net.Conn, path string) (status int, body string, closes bool) {
			t.Helper()
			go io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(response.Body)
			return response.StatusCode, string(text), response.Close
		}
		old := listener.dial()
		defer old.Close()
		if status, body, closes := get(old, ReadyPath); status != 200 || body != `{"status":"ready"}`+"\n" || closes {
			t.Errorf(`got %d %s, closes: %t; want 200 {"status":"ready"}, closes: false`, status, body, closes)
		}
		began, ended := time.Now(), make(chan error)
		go func() { ended <- stop() }()
		time.Sleep(2 * time.Second)
		fresh := listener.dial()
		defer fresh.Close()
		if status, body, closes := get(fresh, ReadyPath); status != 503 || body != `{"status":"unavailable","reasons":["draining"]}`+"\n" || !closes {
			t.Errorf(`while draining: got %d %s, closes: %t; want 503 {"status":"unavailable","reasons":["draining"]}, closes: true`, status, body, closes)
		}
		if status, _, closes := get(old, "/mcp"); status != 200 || !closes {
			t.Errorf("over an old connection: got %d, closes: %t; want 200, closes: true", status, closes)
		}
		if err := <-ended; err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("it ended after %v: %v; want 3s and no error", time.Since(began), err)
		}
	})
}

// If the listener fails in the drain period, the server stops without waiting for its end.
func TestDrainWithoutListener(t *testing.T) {
	runWithClock(t, echo{}, ServeOptions{Drain: 3 * time.Second}, func(t *testing.T, listener pipes, stop func() error) {
		began := time.Now()
		time.AfterFunc(time.Second, func() { listener.Close() })
		if err := stop(); err != nil || time.Since(began) != time.Second {
			t.Errorf("it ended after %v: %v; want 1s and no error", time.Since(began), err)
		}
	})
}

// Idle connections do not delay shutdown.
func TestEndWithIdle(t *testing.T) {
	runWithClock(t, echo{}, ServeOptions{}, func(t *testing.T, listener pipes, stop func() error) {
		silent := listener.dial()
		defer silent.Close()
		half := listener.dial()
		defer half.Close()
		io.WriteString(half, head)
		idle := listener.dial()
		defer idle.Close()
		io.WriteString(idle, head+"\r\nhello")
		if _, err := http.ReadResponse(bufio.NewReader(idle), nil); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := stop(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v, want at most %v", took, time.Second)
		}
	})
}
