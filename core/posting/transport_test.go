package posting_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/posting"
)

// A counter is a transport, and how many connections it has made.
type counter struct {
	*posting.Transport
	dialed atomic.Int32
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	if !posting.Supported {
		t.Skip("connections are not used again on this system, so nothing is posted like this")
	}
	c := new(counter)
	c.Transport = posting.New(func(ctx context.Context, network, address string) (net.Conn, error) {
		c.dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	})
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func request(t *testing.T, ctx context.Context, url, text string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// post posts a text, and returns the status and the body of the answer.
func (c *counter) post(t *testing.T, url, text string) (string, error) {
	t.Helper()
	resp, err := c.RoundTrip(request(t, t.Context(), url, text))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return fmt.Sprintf("%d %s", resp.StatusCode, body), err
}

// Whatever the form of an answer, the connection is used for the next request.
func TestConnectionsAreUsedAgain(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/chunked":
			_ = http.NewResponseController(w).Flush()
		case "/empty":
			w.WriteHeader(http.StatusAccepted)
			return
		case "/hints":
			w.WriteHeader(http.StatusEarlyHints)
		}
		_, _ = w.Write(body)
	}))
	defer web.Close()
	for path, want := range map[string]string{"/": "200 hello", "/chunked": "200 hello", "/empty": "202 ", "/hints": "200 hello"} {
		c := newCounter(t)
		for range 20 {
			if got, err := c.post(t, web.URL+path, "hello"); err != nil || got != want {
				t.Fatalf("%s: %q, %v", path, got, err)
			}
		}
		if n := c.dialed.Load(); n != 1 {
			t.Errorf("%s: %d connections", path, n)
		}
	}
}

// Each of many callers gets the answer to what it posted.
func TestManyPost(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer web.Close()
	c := newCounter(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for j := range 50 {
				text := strings.Repeat(fmt.Sprintf("%d,%d;", i, j), 1+i*j%500)
				if got, err := c.post(t, web.URL, text); err != nil || got != "200 "+text {
					t.Errorf("%d, %d: %v", i, j, err)
				}
			}
		})
	}
	all.Wait()
	if n := c.dialed.Load(); n > 16 {
		t.Errorf("%d connections", n)
	}
}

// script is a server that takes connections one after another and says, on each, one text for each request.
func script(t *testing.T, connections ...[]string) (url string, closed <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{}, len(connections))
	go func() {
		for _, texts := range connections {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(conn)
			for _, text := range texts {
				req, err := http.ReadRequest(in)
				if err != nil {
					break
				}
				_, _ = io.Copy(io.Discard, req.Body)
				_, _ = io.WriteString(conn, text)
			}
			conn.Close()
			ended <- struct{}{}
		}
	}()
	t.Cleanup(func() { listener.Close() })
	return "http://" + listener.Addr().String(), ended
}

// A connection that the server has closed, or that more came over than was asked for, is not used again.
func TestConnectionsAreLeft(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	for name, first := range map[string]string{
		"closed":         answer,
		"announced":      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
		"of before":      "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"without length": "HTTP/1.1 200 OK\r\n\r\nok",
		"switched":       "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
		"too much":       answer + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong",
	} {
		url, closed := script(t, []string{first}, []string{answer})
		c := newCounter(t)
		for range 2 {
			if got, err := c.post(t, url, "hello"); err != nil || got != "200 ok" && got != "101 " {
				t.Errorf("%s: %q, %v", name, got, err)
			}
			<-closed
		}
		if n := c.dialed.Load(); n != 2 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

// A server that breaks off, or does not speak HTTP, or never comes to an end, gives an error; and a request is not sent again.
func TestBadAnswers(t *testing.T) {
	for name, test := range map[string]struct{ says, want string }{
		"nothing":        {"", "ended before the answer"},
		"half a header":  {"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n", "ended before the answer"},
		"no HTTP":        {"hello\r\n\r\n", "malformed HTTP"},
		"half a body":    {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", "unexpected EOF"},
		"a large header": {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2<<20) + "\r\n\r\n", "larger than 1048576 bytes"},
		"only hints":     {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 50_000), "larger than 1048576 bytes"},
	} {
		url, _ := script(t, []string{test.says})
		c := newCounter(t)
		if got, err := c.post(t, url, "hello"); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if n := c.dialed.Load(); n != 1 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

// Whoever does not want to wait any longer need not: neither for the answer nor for the rest of it.
func TestContextEnds(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	c := newCounter(t)
	enough := errors.New("enough")
	for _, path := range []string{"/", "/half"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(enough) })
		resp, err := c.RoundTrip(request(t, ctx, web.URL+path, "hello"))
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		if !errors.Is(err, enough) || (resp != nil) != (path == "/half") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// What nobody waits for any more is not sent.
func TestContextHasEnded(t *testing.T) {
	var seen atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "late" {
			seen.Add(1)
		}
	}))
	defer web.Close()
	c := newCounter(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	for range 50 {
		if _, err := c.post(t, web.URL, "hello"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RoundTrip(request(t, ctx, web.URL, "late")); !errors.Is(err, enough) {
			t.Fatalf("it says %v", err)
		}
	}
	if n := seen.Load(); n > 0 {
		t.Errorf("%d are sent", n)
	}
	slow := posting.New(func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(enough) })
	if _, err := slow.RoundTrip(request(t, ctx, web.URL, "late")); !errors.Is(err, enough) {
		t.Errorf("while it connects: %v", err)
	}
}

// Contexts that end at any moment spoil no connection for the next request.
func TestContextsEndAtAnyMoment(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	defer web.Close()
	c := newCounter(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for j := range 200 {
				text := strings.Repeat(string(rune('a'+(i*7+j)%26)), 1+j%3000)
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(50+3*j)*time.Microsecond)
				if resp, err := c.RoundTrip(request(t, ctx, web.URL, text)); err == nil {
					if body, err := io.ReadAll(resp.Body); err == nil && string(body) != text {
						t.Error("it gets the answer to something else")
					}
					resp.Body.Close()
				}
				cancel()
				if got, err := c.post(t, web.URL, text); err != nil || got != "200 "+text {
					t.Errorf("the next one: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// A connection that knows no deadlines, such as one through a tunnel, ends with the context all the same.
func TestNoDeadlines(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer web.Close()
	transport := posting.New(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return timeless{conn}, err
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := transport.RoundTrip(request(t, ctx, web.URL, "hello")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it says %v", err)
	}
}

type timeless struct{ net.Conn }

func (timeless) SetDeadline(time.Time) error { return errors.New("there are no deadlines") }

// Connections that wait for long are closed, and those that the server has closed.
func TestSweep(t *testing.T) {
	var open, busy atomic.Int32
	release := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		busy.Add(1)
		<-release
	}))
	defer web.Close()
	c := newCounter(t)
	c.Transport = posting.New(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		open.Add(1)
		return &counted{TCPConn: conn.(*net.TCPConn), closed: func() { open.Add(-1) }}, nil
	})
	var all sync.WaitGroup
	for range 9 {
		all.Go(func() {
			if _, err := c.post(t, web.URL, "hello"); err != nil {
				t.Error(err)
			}
		})
	}
	for busy.Load() < 9 {
		time.Sleep(time.Millisecond)
	}
	close(release)
	all.Wait()
	if c.Sweep(time.Now()); open.Load() != 9 {
		t.Errorf("%d of 9 wait", open.Load())
	}
	if c.Sweep(time.Now().Add(time.Hour)); open.Load() != 0 {
		t.Errorf("%d of 9 wait after an hour", open.Load())
	}
	if _, err := c.post(t, web.URL, "hello"); err != nil || open.Load() != 1 {
		t.Fatalf("%d are open, %v", open.Load(), err)
	}
	web.CloseClientConnections()
	for until := time.Now().Add(5 * time.Second); open.Load() > 0 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		c.Sweep(time.Now())
	}
	if open.Load() != 0 {
		t.Error("one that the server has closed is kept")
	}
}

// A counted connection says when it is closed.
type counted struct {
	*net.TCPConn
	once   sync.Once
	closed func()
}

func (c *counted) Close() error {
	c.once.Do(c.closed)
	return c.TCPConn.Close()
}

// A body that is closed ends, whoever reads it, and its connection with it.
func TestBodyCloses(t *testing.T) {
	gone := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer web.Close()
	c := newCounter(t)
	resp, err := c.RoundTrip(request(t, t.Context(), web.URL, "hello"))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	resp.Body.Close()
	if err := <-ended; err == nil {
		t.Error("it reads on")
	}
	<-gone
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("it is read after its end: %v", err)
	}
}

// What cannot be posted like this is refused before anything is sent.
func TestNotLikeThis(t *testing.T) {
	c := newCounter(t)
	long := request(t, t.Context(), "http://127.0.0.1:1", "")
	long.Body, long.ContentLength = io.NopCloser(bytes.NewReader(make([]byte, posting.MaxBody+1))), posting.MaxBody+1
	unknown := request(t, t.Context(), "http://127.0.0.1:1", "")
	unknown.Body, unknown.ContentLength = io.NopCloser(strings.NewReader("x")), -1
	short := request(t, t.Context(), "http://127.0.0.1:1", "")
	short.Body, short.ContentLength = io.NopCloser(strings.NewReader("x")), 9
	for name, req := range map[string]*http.Request{"long": long, "unknown": unknown, "secret": request(t, t.Context(), "https://127.0.0.1:1", "x")} {
		if _, err := c.RoundTrip(req); err == nil || c.dialed.Load() > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	url, _ := script(t, nil)
	short.URL.Host = strings.TrimPrefix(url, "http://")
	if _, err := c.RoundTrip(short); err == nil || !strings.Contains(err.Error(), "ContentLength=9") {
		t.Errorf("a body that is shorter than it says: %v", err)
	}
	var refused *net.OpError
	if _, err := c.post(t, "http://127.0.0.1:1", "x"); !errors.As(err, &refused) || refused.Op != "dial" {
		t.Errorf("where nobody listens: %v", err)
	}
}
