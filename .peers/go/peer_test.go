// Package peers_test tests the fixture with the client of the official Go SDK, in both protocol
// eras.
package peers_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixture is the path of the server, which is built once for all tests.
var fixture string

func TestMain(m *testing.M) {
	os.Exit(build(m))
}

func build(m *testing.M) int {
	dir, err := os.MkdirTemp("", "petrock-peers")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	fixture = filepath.Join(dir, "fixture")
	if out, err := exec.Command("go", "build", "-o", fixture, "./fixture").CombinedOutput(); err != nil {
		panic("building the fixture: " + string(out))
	}
	return m.Run()
}

// patience is the timeout for events that must happen.
const patience = 10 * time.Second

// connect starts the fixture and connects a client to it. If version is "", the client chooses one.
func connect(t *testing.T, version string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return connectAs(t, version, mcp.NewClient(&mcp.Implementation{Name: "go-peer", Version: "1"}, o))
}

func connectAs(t *testing.T, version string, client *mcp.Client) *mcp.ClientSession {
	t.Helper()
	if *over == "http" {
		return connectTo(t, serveFixture(t), version, client, nil)
	}
	cmd := exec.Command(fixture)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() {
		began := time.Now()
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the server took %v to exit after the end of its input", took)
		}
		if t.Failed() {
			t.Logf("the server wrote:\n%s", stderr.String())
		}
	})
	return session
}

// connectTo connects a client to a server over HTTP; carrier may be nil.
func connectTo(t *testing.T, address, version string, client *mcp.Client, carrier http.RoundTripper) *mcp.ClientSession {
	t.Helper()
	transport := &mcp.StreamableClientTransport{Endpoint: address}
	if carrier != nil {
		transport.HTTPClient = &http.Client{Transport: carrier}
	}
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return session
}

// call calls a tool and fails the test on a protocol error.
func call(t *testing.T, s *mcp.ClientSession, name string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("calling %s: %v", name, err)
	}
	return result
}

// textOf returns the text of the first block of a result.
func textOf(t *testing.T, r *mcp.CallToolResult) string {
	t.Helper()
	if len(r.Content) == 0 {
		t.Fatalf("no content in %+v", r)
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the first block is a %T, want text", r.Content[0])
	}
	return text.Text
}

// decode decodes the structured content of a result.
func decode[T any](t *testing.T, r *mcp.CallToolResult) T {
	t.Helper()
	var v T
	if r.IsError {
		t.Fatalf("the tool failed: %s", textOf(t, r))
	}
	raw, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	if err != nil {
		t.Fatalf("structured content %v: %v", r.StructuredContent, err)
	}
	return v
}

// receive waits for a value from c.
func receive[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("no %s within %v", what, patience)
		panic("unreachable")
	}
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// collect returns the keys of all entries of a paged list.
func collect[T any](t *testing.T, pages func(func(*T, error) bool), key func(*T) string) []string {
	t.Helper()
	var keys []string
	for v, err := range pages {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key(v))
	}
	return keys
}

func wantAll(t *testing.T, got []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q is missing in %q", w, got)
		}
	}
}

// stateless is the revision without handshake.
const stateless = "2026-07-28"

// handshakes are the revisions with a handshake.
var handshakes = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// eachRevision runs a test in every revision.
func eachRevision(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range append([]string{stateless}, handshakes...) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// later returns a context with the timeout patience.
func later(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
