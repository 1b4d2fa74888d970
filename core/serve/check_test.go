package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// replaying is an extension whose Open waits, and which has a health.
type replaying struct {
	fakeExtension
	opening           chan error
	unready, degraded []string
}

func (r *replaying) Open(context.Context, *mcp.Server, *slog.Logger) (func() error, error) {
	return func() error { return nil }, <-r.opening
}

func (r *replaying) Health() (_, _ []string) { return r.unready, r.degraded }

// While its extensions open, serve answers health checks and refuses calls. It ends if they fail.
func TestReadiness(t *testing.T) {
	withoutKeys(t)
	for _, fails := range []error{nil, errors.New("no such database")} {
		listener, err := mcphttp.Listen(t.Context(), "127.0.0.1:0") // for a free port
		if err != nil {
			t.Fatal(err)
		}
		addr := listener.Addr().String()
		listener.Close()
		e := &replaying{opening: make(chan error), degraded: []string{"feature posts: stopped"}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		errOut, ended := create(t), make(chan int)
		go func() {
			ended <- Run(ctx, hello(e), []string{"serve", "--addr", addr, "--healthz", "--drain", "0"}, create(t), errOut)
		}()
		wait := func(wantCode int, want string, args ...string) {
			t.Helper()
			for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
				out := create(t)
				code := Run(t.Context(), hello(), append([]string{"check", "http://" + addr}, args...), out, create(t))
				if got := read(t, out); code == wantCode && strings.TrimSpace(got) == want {
					return
				} else if time.Since(began) > 10*time.Second {
					t.Fatalf("check: got exit code %d and %s, want %d and %s", code, got, wantCode, want)
				}
			}
		}
		wait(1, `{"status":"unavailable","reasons":["replaying"]}`)
		if status, _ := sendMessage(t, "GET", "http://"+addr+"/healthz", ""); status != 200 {
			t.Errorf("/healthz: got %v, want 200", status)
		}
		if status, text := sendMessage(t, "POST", "http://"+addr+"/mcp", listTools); status != 503 {
			t.Errorf("a call gets %d %q, want 503", status, text)
		}
		if strings.Contains(read(t, errOut), "serving") {
			t.Errorf(`standard error is %q, want it without "serving"`, read(t, errOut))
		}
		e.opening <- fails
		if fails != nil {
			if code := <-ended; code != 1 || !strings.Contains(read(t, errOut), "hello: no such database\n") {
				t.Errorf(`got exit code %d and %s; want 1 and "hello: no such database"`, code, read(t, errOut))
			}
			continue
		}
		wait(0, `{"status":"degraded","reasons":["feature posts: stopped"]}`)
		wait(1, `{"status":"degraded","reasons":["feature posts: stopped"]}`, "--strict")
		if status, text := sendMessage(t, "POST", "http://"+addr+"/mcp", listTools); status != 200 {
			t.Errorf("a call gets %d %q, want 200", status, text)
		}
		cancel()
		if code := <-ended; code != 0 || !strings.Contains(read(t, errOut), "serving http://"+addr+"/mcp") {
			t.Errorf("got exit code %d and %s; want 0 and serving http://%s/mcp", code, read(t, errOut), addr)
		}
	}
}

func TestCheck(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other/" {
			w.WriteHeader(http.StatusNotFound)
		}
		fmt.Fprintln(w, r.URL)
	}))
	defer web.Close()
	for _, test := range []struct {
		args string
		code int
		out  string
		says string // the error
	}{
		{web.URL, 0, "/readyz\n", ""},
		{web.URL + "/", 0, "/readyz\n", ""},
		{web.URL + "/mcp --strict", 0, "/readyz?strict\n", ""},
		{web.URL + "/healthz", 0, "/healthz\n", ""},
		{web.URL + "/other/", 1, "/other/\n", "404 Not Found; start the server with --healthz"},
		{"http://127.0.0.1:1 --timeout 2s", 1, "", "connection refused"},
		{"127.0.0.1:8181", 2, "", "use a URL such as http://127.0.0.1:8181"},
		{web.URL + " --timeout 0", 2, "", "a timeout above 0"},
		{web.URL + " " + web.URL, 2, "", "at most 1 arg"},
	} {
		out, errOut := create(t), create(t)
		code := Run(t.Context(), hello(), append([]string{"check"}, strings.Fields(test.args)...), out, errOut)
		if code != test.code || read(t, out) != test.out || !strings.Contains(read(t, errOut), test.says) {
			t.Errorf("check %s: got exit code %d, %q and %q; want %d, %q and %q", test.args, code, read(t, out), read(t, errOut), test.code, test.out, test.says)
		}
	}
}

// Background work that does not end does not keep serve from ending.
func TestEndUntil(t *testing.T) {
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	late, stuck := make(chan struct{}), make(chan struct{})
	defer close(stuck)
	if err := endUntil(late, func() error { return errors.New("no room") }, log); err == nil || err.Error() != "no room" || logged.Len() > 0 {
		t.Errorf(`got %v and the log %q; want the error "no room" and no log`, err, logged.String())
	}
	close(late)
	if err := endUntil(late, func() error { <-stuck; return nil }, log); err != nil || !strings.Contains(logged.String(), "grace period over") {
		t.Errorf(`got %v and the log %s; want no error and "grace period over" in the log`, err, logged.String())
	}
}
