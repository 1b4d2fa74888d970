package peers_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sdkClient returns a client of the Go SDK.
func sdkClient(o *mcp.ClientOptions) *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, o)
}

// Closing a client ends its session, if the revision has sessions.
func TestHTTPSessionEnds(t *testing.T) {
	address := serveFixture(t)
	for _, version := range append([]string{stateless}, handshakes...) {
		t.Run(version, func(t *testing.T) {
			c := &carrier{}
			s := connectTo(t, address, version, sdkClient(nil), c)
			if got := textOf(t, call(t, s, "revision", nil)); got != version {
				t.Errorf("called in %s", got)
			}
			if err := s.Close(); err != nil {
				t.Errorf("closing: %v", err)
			}
			if version >= stateless {
				c.wantEnded(t, address, 0)
				return
			}
			c.wantEnded(t, address, 1)
			if c.methods["DELETE"] != 1 || c.methods["GET"] != 1 {
				t.Errorf("requests %v, want one DELETE and one GET", c.methods)
			}
		})
	}
}

// Clients without a valid key are rejected in both eras.
func TestHTTPKeys(t *testing.T) {
	address := serveFixture(t, "FIXTURE_API_KEY=another-key-that-is-good,"+goodKey)
	for _, version := range []string{"2025-11-25", stateless} {
		for _, test := range []struct {
			name, header, value string
			in                  bool
		}{
			{"none", "X-Something", "else", false},
			{"wrong", "X-Api-Token", "0123456789abcdef0123456789abcdeF", false},
			{"wrong, bearer", "Authorization", "Bearer nobody", false},
			{"right", "X-Api-Token", goodKey, true},
			{"right, bearer", "Authorization", "Bearer " + goodKey, true},
			{"the other one", "Authorization", "bearer another-key-that-is-good", true},
		} {
			t.Run(version+" "+test.name, func(t *testing.T) {
				c := &carrier{name: test.header, value: test.value}
				if test.in {
					s := connectTo(t, address, version, sdkClient(nil), c)
					if got := textOf(t, call(t, s, "add", map[string]any{"a": 1, "b": 2})); got != `{"sum":3}` {
						t.Errorf("add returned %s", got)
					}
					return
				}
				transport := &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: c}}
				_, err := sdkClient(nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
				if err == nil || !strings.Contains(err.Error(), http.StatusText(http.StatusUnauthorized)) {
					t.Errorf("connecting: %v", err)
				}
			})
		}
	}
}

// If the connection is cut during a response, the client receives the rest of it, and each message
// once.
func TestHTTPResumes(t *testing.T) {
	w := newWire(t, serveFixture(t))
	heard := make(chan *mcp.ProgressNotificationParams, 100)
	updated := make(chan string, 10)
	s := connectTo(t, w.url, "2025-11-25", sdkClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			heard <- r.Params
			if r.Params.Progress == 3 {
				w.cut()
			}
		},
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
	}), nil)
	if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "note://readme"}); err != nil {
		t.Fatal(err)
	}
	p := &mcp.CallToolParams{Name: "count", Arguments: map[string]any{"to": 12}}
	p.SetProgressToken("token-1")
	r, err := s.CallTool(later(t), p)
	if err != nil || textOf(t, r) != "counted to 12" {
		t.Fatalf("got %+v, %v", r, err)
	}
	for i := range 12 {
		if got := receive(t, heard, "progress"); got.Progress != float64(i+1) {
			t.Errorf("progress %v, want %d", got.Progress, i+1)
		}
	}
	if w.cuts != 1 {
		t.Errorf("cut %d times", w.cuts)
	}
	// The session's own stream was cut too.
	call(t, s, "touch", map[string]any{"uri": "note://readme"})
	if got := receive(t, updated, "update"); got != "note://readme" {
		t.Errorf("update of %s", got)
	}
}

// A tool can close the stream: the client reconnects for the response.
func TestHTTPSuspend(t *testing.T) {
	address := serveFixture(t)
	for _, version := range append([]string{stateless}, handshakes...) {
		c := &carrier{}
		s := connectTo(t, address, version, sdkClient(nil), c)
		r, err := s.CallTool(later(t), &mcp.CallToolParams{Name: "suspend"})
		if err != nil || textOf(t, r) != "back again" {
			t.Errorf("%s: got %+v, %v", version, r, err)
		}
		c.mu.Lock()
		if gets := c.methods["GET"]; version == "2025-11-25" && gets != 2 {
			t.Errorf("%s: %d GET, want one for the session and one for the answer", version, gets)
		}
		c.mu.Unlock()
	}
}

// One process serves clients of all revisions in parallel, and notifies all subscribers of a
// resource.
func TestHTTPOneProcess(t *testing.T) {
	address := os.Getenv("PEERS_URL")
	if address == "" {
		address = serveFixture(t)
	}
	const uri = "note://by-id/shared"
	type one struct {
		version string
		session *mcp.ClientSession
		heard   chan string
	}
	var all []one
	for _, version := range append([]string{stateless}, handshakes...) {
		heard := make(chan string, 10)
		s := connectTo(t, address, version, sdkClient(&mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { heard <- r.Params.URI },
		}), nil)
		if err := s.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
			t.Fatalf("%s: %v", version, err)
		}
		all = append(all, one{version, s, heard})
	}
	call(t, all[0].session, "touch", map[string]any{"uri": uri})
	for _, c := range all {
		if got := receive(t, c.heard, "update in "+c.version); got != uri {
			t.Errorf("%s: update of %s", c.version, got)
		}
		if got := textOf(t, call(t, c.session, "revision", nil)); got != c.version {
			t.Errorf("called in %s, want %s", got, c.version)
		}
	}
}

// The server of a new project serves over HTTP, requires its API key, and does not include the
// generators.
func TestHTTPNewProject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project, program := filepath.Join(dir, "hello"), filepath.Join(dir, "hello-server")
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{"../..", []string{"run", "./cmd/petrock", "new", "hello", "--dir", project, "--no-git", "--quiet"}},
		{project, []string{"build", "-o", program, "./cmd/hello"}},
	} {
		cmd := exec.Command("go", step.args...)
		cmd.Dir = step.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", step.args, err, out)
		}
	}
	cmd := exec.Command(program, "serve", "--addr", "127.0.0.1:0")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HELLO_API_KEY="+goodKey)
	address := serving(t, cmd, cmd.StderrPipe)
	for _, version := range append([]string{stateless}, handshakes...) {
		c := &carrier{name: "Authorization", value: "Bearer " + goodKey}
		s := connectTo(t, address, version, sdkClient(nil), c)
		if got := textOf(t, call(t, s, "add", map[string]any{"a": 2, "b": 3})); got != `{"sum":5}` {
			t.Errorf("in %s, add returned %s", version, got)
		}
		tools, err := s.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 1 {
			t.Errorf("in %s, tools %+v, %v", version, tools, err)
		}
		transport := &mcp.StreamableClientTransport{Endpoint: address}
		if _, err := sdkClient(nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version}); err == nil {
			t.Errorf("in %s, a client without a key was accepted", version)
		}
	}
}
