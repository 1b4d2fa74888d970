package mcphttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/auth"
)

// start serves h on a free port until the test ends or stop is called. stop returns the error of
// serve.
func start(t *testing.T, h endable, o ServeOptions) (addr string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan net.Addr, 1), make(chan error, 1)
	o.Addr, o.Ready = "127.0.0.1:0", func(addr net.Addr) { ready <- addr }
	go func() { ended <- serve(ctx, newService(t, h, Options{}), o) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	select {
	case at := <-ready:
		t.Cleanup(func() { stop() })
		return at.String(), stop
	case err := <-ended:
		t.Fatal(err)
		return "", nil
	}
}

// Serve refuses invalid options, with a remedy.
func TestRefusedAtStart(t *testing.T) {
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, test := range []struct {
		options ServeOptions
		says    string
	}{
		{ServeOptions{Addr: ":0"}, ": other machines could connect without authentication"},
		{ServeOptions{Addr: "0.0.0.0:0"}, "without authentication"},
		{ServeOptions{Addr: "[::]:0"}, "without authentication"},
		{ServeOptions{Addr: taken.Addr().String()}, "address already in use"},
		{ServeOptions{Addr: "8181"}, "host:port"},
		{ServeOptions{Addr: "127.0.0.1"}, "host:port"},
		{ServeOptions{Addr: "127.0.0.1:"}, "host:port"},
		{ServeOptions{Addr: "127.0.0.1:99999"}, "must be from 0 to 65535"},
		{ServeOptions{Addr: "127.0.0.1:nothing"}, "unknown port"},
	} {
		test.options.Ready = func(net.Addr) { t.Errorf("%s: the server listens, want an error", test.options.Addr) }
		if err := serve(t.Context(), newService(t, echo{}, Options{}), test.options); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %v; want an error containing %q", test.options.Addr, err, test.says)
		}
	}
}

// An address other than loopback requires a gate or BehindProxy.
func TestServeElsewhere(t *testing.T) {
	for _, o := range []ServeOptions{{Addr: ":0", BehindProxy: true}, {Addr: "0.0.0.0:0", Gates: []auth.Gate{keys(t)}}} {
		ctx, cancel := context.WithCancel(t.Context())
		o.Ready = func(net.Addr) { cancel() }
		if err := serve(ctx, newService(t, echo{}, Options{}), o); err != nil {
			t.Errorf("%s: %v", o.Addr, err)
		}
		cancel()
	}
}

// An empty address means the default loopback address, not all addresses.
func TestNoAddress(t *testing.T) {
	listener, err := Listen(t.Context(), "")
	if err != nil { // another program has the port
		if !strings.Contains(err.Error(), DefaultAddr) {
			t.Error(err)
		}
		return
	}
	defer listener.Close()
	if listener.Addr().String() != DefaultAddr {
		t.Errorf("it listens on %s, want %s", listener.Addr().String(), DefaultAddr)
	}
}

// A waiting handler responds during Shutdown, like a call in flight.
type waiting struct{ entered, told chan struct{} }

func (h waiting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	close(h.entered)
	select {
	case <-h.told:
		io.WriteString(w, "done")
	case <-r.Context().Done():
	}
}

func (h waiting) Shutdown(context.Context) error {
	close(h.told)
	return nil
}

// Shutdown waits for calls in flight, and refuses further calls.
func TestEnd(t *testing.T) {
	h := waiting{make(chan struct{}), make(chan struct{})}
	addr, stop := start(t, h, ServeOptions{})
	answered := make(chan string, 1)
	go func() {
		response, err := http.Post("http://"+addr+"/mcp", "application/json", strings.NewReader("{}"))
		if err != nil {
			answered <- err.Error()
			return
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		answered <- string(text)
	}()
	<-h.entered
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answered; got != "done" {
		t.Errorf(`the call in flight gets %q, want "done"`, got)
	}
	if conn, err := net.Dial("tcp", addr); err == nil {
		conn.Close()
		t.Error("the server still listens")
	}
}

// panicking is a handler that panics.
type panicking struct{ echo }

func (panicking) ServeHTTP(http.ResponseWriter, *http.Request) { panic("a fault") }

// A handler that panics closes its connection, and the panic is logged.
func TestPanic(t *testing.T) {
	var logged safeBuffer
	addr, stop := start(t, panicking{}, ServeOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil)), Health: true})
	if response, err := http.Post("http://"+addr+"/mcp", "application/json", strings.NewReader("{}")); err == nil {
		t.Errorf("a handler that panics answers with %d, want a closed connection", response.StatusCode)
	}
	response, err := http.Get("http://" + addr + "/healthz")
	if err != nil {
		t.Fatalf("a request after the panic: %v", err)
	}
	if response.StatusCode != 200 {
		t.Errorf("a request after the panic gives %s, want 200", response.Status)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if text := logged.String(); !strings.Contains(text, "a fault") {
		t.Errorf(`it is logged as %q, want it to contain "a fault"`, text)
	}
}

// A broken listener fails to accept.
type broken struct{ net.Listener }

func (broken) Accept() (net.Conn, error) { return nil, errors.New("no more files") }

func TestBrokenListener(t *testing.T) {
	listener, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := serve(t.Context(), newService(t, echo{}, Options{}), ServeOptions{Listener: broken{listener}}); err == nil || !strings.Contains(err.Error(), "no more files") {
		t.Errorf(`it ends with %v; want an error containing "no more files"`, err)
	}
}

// A safeBuffer is a buffer for concurrent use.
type safeBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// The error has the address of the listener, even if the caller opened it.
func TestUnprotectedListener(t *testing.T) {
	listener, err := Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	err = serve(t.Context(), newService(t, echo{}, Options{}), ServeOptions{Listener: listener})
	if unprotected, ok := errors.AsType[*UnprotectedError](err); !ok || unprotected.Addr != listener.Addr().String() {
		t.Errorf("listening on %s gives %v, want an *UnprotectedError with that address", listener.Addr(), err)
	}
}
