package peers_test

import (
	"bufio"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// over is the transport for the tests.
var over = flag.String("over", "stdio", "the transport that clients take: stdio or http")

// goodKey is a valid API key.
const goodKey = "0123456789abcdef0123456789abcdef"

// serveFixture starts the fixture over HTTP, with additional environment variables, and returns its
// URL.
func serveFixture(t *testing.T, environment ...string) string {
	t.Helper()
	cmd := exec.Command(fixture, "serve")
	cmd.Env = append(os.Environ(), environment...)
	return serving(t, cmd, cmd.StdoutPipe)
}

// serving starts a server and returns its URL, which the server prints on one of its first lines.
// It fails the test if the server does not exit with 0 on SIGTERM.
func serving(t *testing.T, cmd *exec.Cmd, pipe func() (io.ReadCloser, error)) string {
	t.Helper()
	out, err := pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	address, said := "", ""
	for address == "" && lines.Scan() {
		said += lines.Text() + "\n"
		for word := range strings.FieldsSeq(lines.Text()) {
			if strings.HasPrefix(word, "http://") {
				address = word
			}
		}
	}
	rest := make(chan string, 1)
	go func() {
		text := ""
		for lines.Scan() {
			text += lines.Text() + "\n"
		}
		rest <- text
	}()
	t.Cleanup(func() {
		began := time.Now()
		cmd.Process.Signal(syscall.SIGTERM)
		said += <-rest
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server failed on SIGTERM: %v", err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the server took %v to exit on SIGTERM", took)
		}
		if t.Failed() {
			t.Logf("the server wrote:\n%s", said)
		}
	})
	if address == "" {
		t.Fatalf("the server does not print its URL:\n%s", said)
	}
	return address
}

// A wire is a TCP proxy to a server, whose connections can be cut.
type wire struct {
	url string

	mu    sync.Mutex
	conns []net.Conn
	cuts  int
}

// newWire starts a wire to the server at an address.
func newWire(t *testing.T, address string) *wire {
	t.Helper()
	host, path, _ := strings.Cut(strings.TrimPrefix(address, "http://"), "/")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{url: "http://" + listener.Addr().String() + "/" + path}
	t.Cleanup(func() {
		listener.Close()
		w.cut()
	})
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", host)
			if err != nil {
				near.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, near, far)
			w.mu.Unlock()
			go through(near, far)
			go through(far, near)
		}
	}()
	return w
}

// through copies from one connection to the other.
func through(to, from net.Conn) {
	io.Copy(to, from)
	to.Close()
	from.Close()
}

// cut closes all connections.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		conn.Close()
	}
	w.conns = nil
	w.cuts++
}

// A carrier adds a header to every request, and records the sessions.
type carrier struct {
	name, value string

	mu       sync.Mutex
	sessions map[string]bool
	methods  map[string]int
}

// RoundTrip implements [http.RoundTripper].
func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.name != "" {
		r = r.Clone(r.Context())
		r.Header.Set(c.name, c.value)
	}
	c.mu.Lock()
	if c.sessions == nil {
		c.sessions, c.methods = map[string]bool{}, map[string]int{}
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		c.sessions[id] = true
	}
	c.methods[r.Method]++
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// wantEnded checks the number of sessions, and that all have ended.
func (c *carrier) wantEnded(t *testing.T, address string, sessions int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sessions) != sessions {
		t.Errorf("%d sessions, want %d", len(c.sessions), sessions)
	}
	for id := range c.sessions {
		request, err := http.NewRequest("POST", address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Session-Id": id,
		} {
			request.Header.Set(name, value)
		}
		if c.name != "" {
			request.Header.Set(c.name, c.value)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNotFound {
			t.Errorf("an ended session still answers: status %d", response.StatusCode)
		}
	}
}
