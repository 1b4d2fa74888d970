package live

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/generators/docs"
)

// Without calls, the end of the input is the end of the connection, and of all processes. Invalid
// messages are answered first.
func TestEndOfInput(t *testing.T) {
	for name, noPetrock := range map[string]bool{"no petrock": true, "petrock": false} {
		t.Run(name, func(t *testing.T) { testEndOfInput(t, noPetrock) })
	}
}

func testEndOfInput(t *testing.T, noPetrock bool) {
	w := newWorld(t, func(w *world) { w.noPetrock = noPetrock })
	wire := w.serveLines()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":{},"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`,
		`{`,
	} {
		if err := wire.Send([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if m := w.next(wire, "initialize"); m.Err() != nil {
		t.Fatal(m.Err())
	}
	began := time.Now()
	if err := wire.Close(); err != nil {
		t.Fatal(err)
	}
	errors := 0
	for raw, err := wire.Receive(); err == nil; raw, err = wire.Receive() {
		if m := parse(raw); m.Err() != nil && m.ID().IsZero() {
			errors++
		}
	}
	if took := time.Since(began); errors != 4 || took > 3*time.Second { // the race detector takes one
		t.Errorf("no petrock %t: %d errors, and the connection ended after %v; want 4, within 3 seconds", noPetrock, errors, took)
	}
}

// Before the first build, invalid messages are answered at once, and requests that a server would
// refuse wait for it.
func TestBeforeFirstBuild(t *testing.T) {
	w := newWorld(t, func(w *world) { w.noPetrock, w.blocked, w.firstAnswer = true, make(chan struct{}), time.Millisecond })
	wire := w.serveLines()
	ask := func(line string) string {
		t.Helper()
		if err := wire.Send([]byte(line)); err != nil {
			t.Fatal(err)
		}
		return string(w.next(wire, line).Raw())
	}
	for line, want := range map[string]string{
		`{`: `{"jsonrpc":"2.0","error":{"code":-32700,"message":"not JSON: expected a key, got end of input at byte 1"}}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`: `{"jsonrpc":"2.0","error":{"code":-32600,"message":"an id must be a string or an integer"}}`,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:   `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"\"jsonrpc\" must be \"2.0\""}}`,
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`:   `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		if got := ask(line); got != want {
			t.Errorf("%s: got %s, want %s", line, got, want)
		}
	}
	got := ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`)
	if want := `{"listChanged":true}}`; !strings.Contains(got, `"capabilities":{"logging":{},"tools":`+want) {
		t.Errorf("initialize: got %s, want the capabilities logging and tools, which contract.json has", got)
	}
	// The server refuses these.
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	} {
		if err := wire.Send([]byte(line)); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, w.unblock)
		if m := w.next(wire, line); m.Err() == nil {
			t.Errorf("%s: got %s, want an error", line, m.Raw())
		}
	}
}

// While no dev server runs, the documentation can be read, and its answer is the dev server's.
func TestDocumentationBeforeFirstBuild(t *testing.T) {
	eachRevision(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t, func(w *world) { w.blocked, w.firstAnswer = make(chan struct{}), time.Millisecond })
		c := w.connect(client.Options{Revision: revision})
		for _, page := range docs.Pages() {
			contents, err := c.ReadResource(t.Context(), docs.URI+page.Topic)
			if err != nil || len(contents) != 1 || contents[0].Text != page.Text || contents[0].MIMEType != "text/markdown" || contents[0].URI != docs.URI+page.Topic {
				t.Errorf("%s: %.100v, %v; want the page", page.Topic, contents, err)
			}
		}
	})
}

// A list that never ends is cut off with a warning. Everything else goes on.
func TestEndlessList(t *testing.T) {
	for how, want := range map[string]string{
		"pages": "tools/list of cmd/hello has more than 1000 pages or 16 MiB",
		"same":  "tools/list of cmd/hello has the same nextCursor on two pages",
		"large": "tools/list of cmd/hello has more than 1000 pages or 16 MiB",
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, func(w *world) { w.slowStart = time.Minute; w.write("endless", how) })
			c := w.connect(client.Options{})
			if names := toolNames(t, c); len(names) < 2 || !slices.Contains(names, Prefix+"build") {
				t.Errorf("tools: got %.200q, want the first ones, and petrock's", names)
			}
			call(t, c, "one")
			if !strings.Contains(w.log.String(), want) {
				t.Errorf("the log is %s, want it to contain %q", w.log, want)
			}
		})
	}
}
