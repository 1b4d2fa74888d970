package mcphttp

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// get sends a request over a connection, and returns the status of the response, or 0.
func get(conn net.Conn, path string) int {
	go fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// isClosed reports whether the server has closed a connection.
func isClosed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	return err == io.EOF
}

// A busy handler answers after a minute.
type busy struct{ echo }

func (busy) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	time.Sleep(time.Minute)
	w.WriteHeader(http.StatusTeapot)
}

// At the limit, the server evicts the connection that has waited longest, preferring those without
// a request.
func TestEviction(t *testing.T) {
	runWithClock(t, echo{}, ServeOptions{MaxConns: 3, Health: true}, func(t *testing.T, listener pipes, _ func() error) {
		old := listener.dial()
		if status := get(old, "/mcp"); status != 200 {
			t.Fatalf("the first connection gets the status %d, want 200", status)
		}
		time.Sleep(2 * time.Second)
		silent := listener.dial()
		time.Sleep(1500 * time.Millisecond)
		slow := listener.dial()
		go io.WriteString(slow, "POST /mcp HT")
		time.Sleep(1500 * time.Millisecond)
		for i, gone := range []net.Conn{silent, slow, old} {
			if status := get(listener.dial(), "/mcp"); status != 200 {
				t.Errorf("newcomer %d gets the status %d, want 200", i, status)
			}
			synctest.Wait()
			if !isClosed(gone) {
				t.Errorf("newcomer %d displaced another connection than the one expected, which is still open", i)
			}
		}
	})
}

// If all connections are busy, only health checks are served.
func TestFull(t *testing.T) {
	runWithClock(t, busy{}, ServeOptions{MaxConns: 2, Health: true}, func(t *testing.T, listener pipes, _ func() error) {
		statuses := make(chan int, 2)
		for range 2 {
			conn := listener.dial()
			go func() { statuses <- get(conn, "/mcp") }()
		}
		synctest.Wait()
		for range 2 * healthConns {
			listener.dial() // who says nothing makes room for others
		}
		conn := listener.dial()
		go io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
		text, _ := io.ReadAll(conn)
		if !strings.HasPrefix(string(text), "HTTP/1.1 503 ") || !strings.Contains(string(text), "Retry-After: ") || !strings.Contains(string(text), "limit of 2 connections") {
			t.Errorf(`a request above the limit is answered with %q; want "HTTP/1.1 503 " at its start, and "Retry-After: " and "limit of 2 connections" in it`, text)
		}
		if status := get(listener.dial(), HealthPath); status != 200 {
			t.Errorf("the health check gets the status %d, want 200", status)
		}
		for range 2 {
			if status := <-statuses; status != http.StatusTeapot {
				t.Errorf("a call in flight gets the status %d, want %d", status, http.StatusTeapot)
			}
		}
	})
}

// A client that sends requests but does not read the responses is disconnected.
func TestUnreadResponses(t *testing.T) {
	for _, path := range []string{"/mcp", "/nothing", HealthPath} {
		runWithClock(t, echo{}, ServeOptions{WriteTimeout: 5 * time.Second, Health: true}, func(t *testing.T, listener pipes, _ func() error) {
			conn := listener.dial()
			defer conn.Close()
			began := time.Now()
			for {
				if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
					break
				}
			}
			if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
				t.Errorf("%s: it is cut off after %v, want 5s to 6s", path, took)
			}
		})
	}
}

// A client that opens idle connections does not interrupt requests of other clients.
func TestChurn(t *testing.T) {
	runWithClock(t, echo{}, ServeOptions{MaxConns: 20}, func(t *testing.T, listener pipes, _ func() error) {
		conn := listener.dial()
		defer conn.Close()
		io.WriteString(conn, head+"\r\nhel")
		for range 100 {
			listener.dial()
			time.Sleep(5 * time.Millisecond)
		}
		go io.WriteString(conn, "lo")
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || response.StatusCode != 200 {
			t.Errorf("got %v, %v; want the status 200 and no error", response, err)
		}
	})
}

// The header timeout applies to every request of a connection.
func TestSlowSecondHeader(t *testing.T) {
	runWithClock(t, echo{}, ServeOptions{HeaderTimeout: 3 * time.Second, Idle: time.Minute}, func(t *testing.T, listener pipes, _ func() error) {
		conn := listener.dial()
		defer conn.Close()
		if status := get(conn, "/mcp"); status != 200 {
			t.Fatalf("the first request gets the status %d, want 200", status)
		}
		io.WriteString(conn, "GET /mcp HT")
		began := time.Now()
		_, _ = io.ReadAll(conn)
		if took := time.Since(began); took < 3*time.Second || took > 4*time.Second {
			t.Errorf("the connection ends after %v, want 3s to 4s", took)
		}
	})
}

// A closeNotifier is a connection that reports when the server closes it.
type closeNotifier struct {
	net.Conn
	closed chan struct{}
}

func (c closeNotifier) Close() error {
	select {
	case <-c.closed:
	default:
		close(c.closed)
	}
	return c.Conn.Close()
}

// The connection of a client that has disconnected is closed after the write timeout, even if its
// call still runs.
func TestClosedByClient(t *testing.T) {
	runWithClock(t, busy{}, ServeOptions{WriteTimeout: 5 * time.Second}, func(t *testing.T, listener pipes, _ func() error) {
		client, server := net.Pipe()
		accepted := closeNotifier{server, make(chan struct{})}
		listener.conns <- accepted
		io.WriteString(client, "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n")
		synctest.Wait()
		began := time.Now()
		client.Close()
		<-accepted.closed
		if took := time.Since(began); took < 5*time.Second || took > 7*time.Second {
			t.Errorf("the connection is closed after %v, want 5s to 7s", took)
		}
		time.Sleep(time.Minute)
	})
}
