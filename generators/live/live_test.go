package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/mcp"
)

// In every revision, all kinds of messages pass in both directions.
func TestForwards(t *testing.T) {
	t.Parallel()
	eachRevision(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t)
		logged, updated := make(chan string, 10), make(chan string, 10)
		watcher := watch.New()
		watcher.Logged, watcher.Updated = func(_, data string) { logged <- data }, func(uri string) { updated <- uri }
		c := w.connect(client.Options{
			Revision:     revision,
			Notification: watcher.Notification,
			Sample: func(_ context.Context, s *mcp.Sampling) error {
				s.Answer = mcp.SampledMessage{Role: "assistant", Model: "m", Content: []mcp.Content{mcp.Text{Text: "hello"}}}
				return nil
			},
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///here"}}, nil },
		})
		if c.Revision() != revision {
			t.Errorf("revision: got %q, want %q", c.Revision(), revision)
		}
		if said := c.Instructions(); !strings.HasPrefix(said, "Be brief.") {
			t.Errorf(`instructions: got %q, want the prefix "Be brief."`, said)
		}
		names := toolNames(t, c)
		for _, want := range []string{"one", "ask", Prefix + "build"} {
			if !slices.Contains(names, want) {
				t.Errorf("tools %q lack %s", names, want)
			}
		}
		params := map[string]any{"name": "ask"}
		if revision == mcp.Latest {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: "info"}
		} else if err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "info"}, nil); err != nil {
			t.Fatal(err)
		}
		var asked mcp.ToolResult
		if err := c.Request(t.Context(), "tools/call", params, &asked); err != nil || asked.Text() != "hello file:///here" {
			t.Errorf(`ask: %q, %v; want no error and Text "hello file:///here"`, asked.Text(), err)
		}
		if said := receive(t, logged, "log message"); !strings.Contains(said, "asking") {
			t.Errorf(`the log message is %q, want it to contain "asking"`, said)
		}
		progress := make(chan float64, 10)
		ctx, cancel := context.WithCancel(t.Context())
		waited := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "wait", nil, client.OnProgress(func(p client.Progress) { progress <- p.Progress }))
			waited <- err
		}()
		if p := receive(t, progress, "progress"); p != 1 {
			t.Errorf("progress: got %v, want 1", p)
		}
		cancel()
		if err := receive(t, waited, "answer"); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: got %v, want %v", err, context.Canceled)
		}
		waitFor(t, func() bool { _, err := os.Stat(filepath.Join(w.root, "cancelled")); return err == nil }, "the tool was not cancelled")
		for uri, want := range map[string]string{"note://1": "a note", "petrock://project": "petrock's"} {
			contents, err := c.ReadResource(t.Context(), uri)
			if err != nil || contents[0].Text != want {
				t.Errorf("%s: %v, %v; want no error and the text %q", uri, contents, err, want)
			}
		}
		if _, err := watcher.Subscribe(t.Context(), c, "note://1"); err != nil {
			t.Fatal(err)
		}
		call(t, c, "touch")
		if uri := receive(t, updated, "update"); uri != "note://1" {
			t.Errorf(`updated: got %q, want "note://1"`, uri)
		}
		w.change("tools", "one\npetrock_build\npetrock_mine\ntwo\n") // the subscription survives the server
		waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "two") }, "no tool two")
		names = slices.Sorted(slices.Values(toolNames(t, c)))
		if slices.Contains(names, Prefix+"mine") || len(slices.Compact(slices.Clone(names))) < len(names) {
			t.Errorf("tools %q; want each once, and of those with the prefix only petrock's", names)
		}
		call(t, c, "touch")
		if uri := receive(t, updated, "update"); uri != "note://1" {
			t.Errorf(`updated: got %q, want "note://1"`, uri)
		}
	})
}

func waitFor(t *testing.T, ok func() bool, otherwise string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(otherwise)
		}
	}
}

// After a change the client gets list_changed, and a call in flight finishes on the old server.
func TestReplaces(t *testing.T) {
	t.Parallel()
	eachRevision(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t)
		changed := make(chan struct{}, 10)
		c := w.watch(revision, changed)
		toolNames(t, c)
		before := call(t, c, "one")
		waited := make(chan string, 1)
		started := make(chan struct{}, 10)
		go func() {
			result, err := c.CallTool(t.Context(), "wait", nil, client.OnProgress(func(client.Progress) { started <- struct{}{} }))
			if err != nil {
				waited <- err.Error()
				return
			}
			waited <- result.Text()
		}()
		receive(t, started, "progress")
		w.change("tools", "one\ntwo\n")
		receive(t, changed, "list_changed")
		waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "two") }, "no tool two")
		if after := call(t, c, "one"); after == before {
			t.Errorf("%q: the same process answers after the change, want a new one", after)
		}
		w.write("go-on", "")
		_, process, _ := strings.Cut(before, "process ")
		if said := receive(t, waited, "answer"); said != "waited in process "+process {
			t.Errorf("the answer is %q, want %q (before the build: %q)", said, "waited in process "+process, before)
		}
	})
}

// A server gets the fingerprints of its features, unless files changed during its build.
func TestFeatures(t *testing.T) {
	w := newWorld(t, func(w *world) { w.write("fingerprints", "posts=1") })
	c := w.connect(client.Options{})
	reload := func(tool, fingerprints, want string, listed func() error) {
		t.Helper()
		w.mu.Lock()
		w.listed = listed
		w.mu.Unlock()
		w.write("fingerprints", fingerprints)
		w.change("tools", "one\n"+tool+"\n")
		waitFor(t, func() bool { return slices.Contains(toolNames(t, c), tool) }, "no tool "+tool)
		if got := call(t, c, "features"); got != want {
			t.Errorf("%s: the server has %q, want %q", tool, got, want)
		}
	}
	if got := call(t, c, "features"); got != "this executable: posts=1" {
		t.Errorf(`the server: got %q, want "this executable: posts=1"`, got)
	}
	reload("two", "posts=2", "this executable: posts=2", nil)
	reload("edited", "posts=3", "", func() error { w.write("other", rand.Text()); return nil })
	reload("three", "posts=4", "this executable: posts=4", nil)
	reload("failed", "posts=5", "", func() error { return errors.New("no packages") })
	if !strings.Contains(w.log.String(), "no snapshots of earlier builds: no packages") {
		t.Errorf(`the log is %q, want it to contain "no snapshots of earlier builds: no packages"`, w.log.String())
	}

	// A program that has not changed keeps running.
	before := call(t, c, "one")
	reload("failed", "posts=6", "", nil)
	if err := w.sup.settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := call(t, c, "one"); after != before {
		t.Errorf("after the change one returns %q, want %q as before", after, before)
	}
}

// What petrock's tools change is in the next list.
func TestPetrockCallSettles(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	for i := range 5 {
		name := fmt.Sprintf("new%d", i)
		if _, err := c.CallTool(t.Context(), Prefix+"add", map[string]any{"Name": name}); err != nil {
			t.Fatal(err)
		}
		if names := toolNames(t, c); !slices.Contains(names, name) {
			t.Errorf("the tools are %q, want %q among them", names, name)
		}
	}
}

// The call that crashes the server gets the panic and its place. The next call is served again.
func TestCrash(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	for range 3 {
		result, err := c.CallTool(t.Context(), "crash", nil)
		if err != nil || !result.IsError || !strings.Contains(result.Text(), "crashed: panic: boom") {
			t.Errorf(`crash: %v, %v; want no error, IsError true and Text containing "crashed: panic: boom"`, result, err)
		}
		call(t, c, "one")
	}
	result, err := c.CallTool(t.Context(), "panic", nil)
	if err != nil || !result.IsError || result.Text() != "internal error in tools/call: panic: not so bad" {
		t.Errorf(`panic: %v, %v; want no error, IsError true and Text "internal error in tools/call: panic: not so bad"`, result, err)
	}
}

// A client that does not read standard error holds up nothing.
func TestLogQueue(t *testing.T) {
	t.Parallel()
	var all lockedBuffer
	q := newLogQueue(&all)
	fmt.Fprint(q, "one ")
	fmt.Fprint(q, "two")
	q.close()
	if all.String() != "one two" {
		t.Errorf(`got %q, want "one two"`, all.String())
	}
	r, unread := io.Pipe()
	q = newLogQueue(unread)
	for range 1000 {
		fmt.Fprint(q, "line")
	}
	q.close()
	r.Close()
	<-q.closed
}

func TestPanicOf(t *testing.T) {
	const said = `2026/11/17 INFO started
panic: boom

goroutine 7 [running]:
example.com/hello/core/mcp.(*Server).run(...)
	/home/me/hello/core/mcp/server.go:9 +0x1
example.com/hello/tools.Boom.func1()
	/home/me/hello/tools/boom.go:12 +0x18
created by example.com/hello/tools.Boom
	/home/me/hello/tools/boom.go:11 +0x18
`
	if got := panicOf(said, "/home/me/hello"); got != "panic: boom at tools/boom.go:12" {
		t.Errorf(`panicOf(said, "/home/me/hello") = %q, want "panic: boom at tools/boom.go:12"`, got)
	}
	if got := panicOf("all is well\n", "/"); got != "" {
		t.Errorf(`panicOf("all is well\n", "/") = %q, want ""`, got)
	}
	_, trace, _ := strings.Cut(said, "boom\n")
	for _, id := range []string{`7`, `"a b"`} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Error("handler panicked", "method", "tools/call", "id", id, "panic", errors.New("no luck"), "stack", trace)
		m := parse([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call"}`))
		if got := loggedPanic("x\n"+log.String()+"y\n", m, "/home/me/hello"); got != "panic: no luck at tools/boom.go:12" {
			t.Errorf(`loggedPanic() = %q, want "panic: no luck at tools/boom.go:12"`, got)
		}
		if got := loggedPanic(log.String()[:log.Len()/2], m, "/home/me/hello"); got != "" {
			t.Errorf(`of an incomplete line: got %q, want ""`, got)
		}
	}
}

// A build that fails, and a server that does not start, leave the last one running.
func TestFailures(t *testing.T) {
	w := newWorld(t)
	logged := make(chan string, 10)
	watcher := watch.New()
	watcher.Logged = func(_, data string) { logged <- data }
	c := w.connect(client.Options{Revision: mcp.LatestHandshake, Notification: watcher.Notification})
	call(t, c, "one")
	w.mu.Lock()
	w.failure = errors.New("build cmd/hello: tools/x.go:1:1: syntax error")
	w.mu.Unlock()
	w.change("other", "1")
	if said := receive(t, logged, "log message"); !strings.Contains(said, "syntax error") {
		t.Errorf(`the log message is %q, want it to contain "syntax error"`, said)
	}
	call(t, c, "one")
	w.mu.Lock()
	w.failure = nil
	w.mu.Unlock()
	w.change("tools", "one\nrefuse\n")
	for !strings.Contains(receive(t, logged, "log message"), "does not start") { // the failed build may be repeated
	}
	call(t, c, "one")
	w.change("tools", "one\nthree\n")
	waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "three") }, "no tool three")
}

// A server that hangs when it starts is replaced after the next change.
func TestHangsAtStart(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	call(t, c, "one")
	w.change("tools", "hang\n")
	waitFor(t, func() bool { return strings.Count(w.log.String(), "built cmd/hello") == 2 }, "no build")
	call(t, c, "one")
	w.change("tools", "one\nthree\n")
	waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "three") }, "no tool three")
}

// Builds do not wait long for a dev server that is busy.
func TestBusyDevServer(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	call(t, c, Prefix+"build")
	w.write(".busy", "")
	w.change("tools", "one\ntwo\n")
	waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "two") }, "no tool two")
	w.change("tools", "one\nthree\n")
	waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "three") }, "no tool three")
	if err := os.Remove(filepath.Join(w.root, ".busy")); err != nil {
		t.Fatal(err)
	}
	call(t, c, Prefix+"build")
}

// A file that changes all the time does not hold up petrock's tools.
func TestSettleDuringChanges(t *testing.T) {
	w := newWorld(t)
	c := w.connect(client.Options{})
	call(t, c, "one")
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				w.change("busy", strconv.Itoa(i))
			}
		}
	})
	call(t, c, Prefix+"build")
	close(stop)
	writing.Wait()
}

// Before the first build, the handshake and the lists are answered from contract.json and the
// manifest. Calls wait, with progress. Then the client learns that the lists have changed.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	eachRevision(t, func(t *testing.T, revision mcp.Revision) {
		w := newWorld(t, func(w *world) { w.blocked, w.firstAnswer = make(chan struct{}), time.Second })
		changed, progress := make(chan struct{}, 10), make(chan string, 100)
		c := w.watch(revision, changed)
		names := toolNames(t, c)
		if !slices.Contains(names, "one") || !slices.Contains(names, Prefix+"generate_tool") || slices.Contains(names, "wait") {
			t.Errorf(`tools %q; want names containing "one" and names containing Prefix+"generate_tool" and names without "wait"`, names)
		}
		said := make(chan string, 1)
		go func() {
			result, err := c.CallTool(t.Context(), "one", nil, client.OnProgress(func(p client.Progress) { progress <- p.Message }))
			if err != nil {
				said <- err.Error()
				return
			}
			said <- result.Text()
		}()
		if message := receive(t, progress, "progress"); revision > mcp.Revision20241105 && !strings.Contains(message, "building cmd/hello") {
			t.Errorf(`revision %s: the progress is %q, want it to contain "building cmd/hello"`, revision, message)
		}
		w.unblock()
		if text := receive(t, said, "answer"); !strings.HasPrefix(text, "one of process") {
			t.Errorf(`the answer is %q, want it to start with "one of process"`, text)
		}
		receive(t, changed, "list_changed")
	})
}

// If the first build fails, calls say so at once.
func TestFirstBuildFails(t *testing.T) {
	w := newWorld(t, func(w *world) { w.failure = errors.New("build cmd/hello: no such thing") })
	c := w.connect(client.Options{})
	result, err := c.CallTool(t.Context(), "one", nil)
	if err != nil || !result.IsError || !strings.Contains(result.Text(), "no such thing") {
		t.Errorf(`%v, %v; want no error, IsError true and Text containing "no such thing"`, result, err)
	}
	w.mu.Lock()
	w.failure = nil
	w.mu.Unlock()
	w.change("other", "1")
	waitFor(t, func() bool { return slices.Contains(toolNames(t, c), "wait") }, "no server")
	call(t, c, "one")
}

// A batch is served by the project's server.
func TestBatch(t *testing.T) {
	w := newWorld(t)
	wire := w.serve()
	for _, test := range []struct {
		send string
		want []string
	}{
		{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, []string{`"2025-03-26"`}},
		{`[{"jsonrpc":"2.0","method":"notifications/initialized"},{"jsonrpc":"2.0","id":1,"method":"ping"},` +
			`{"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"one"}}]`, []string{`[{`, `one of process`, `"id":1`}},
		{`[1]`, []string{"error"}},
	} {
		if err := wire.Send([]byte(test.send)); err != nil {
			t.Fatal(err)
		}
		raw, err := wire.Receive()
		for err == nil && strings.Contains(string(raw), "list_changed") {
			raw, err = wire.Receive()
		}
		for _, want := range test.want {
			if err != nil || !strings.Contains(string(raw), want) {
				t.Errorf("%s: %s, %v; want %s", test.send, raw, err, want)
			}
		}
	}
}

// Invalid messages are answered by the server, and lines that are too long by the session.
func TestInvalid(t *testing.T) {
	w := newWorld(t)
	wire := w.serve()
	for _, test := range []struct{ send, want string }{
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `"id":1,"error"`},
		{`{`, `-32700`},
		{`[]`, `error`},
		{`{"jsonrpc":"2.0","id":3,"method":"initialize"}`, `needs a protocolVersion`},
	} {
		if err := wire.Send([]byte(test.send)); err != nil {
			t.Fatal(err)
		}
		raw, err := wire.Receive()
		if err != nil || !strings.Contains(string(raw), test.want) {
			t.Errorf("%s: %s, %v; want no error and %q in it", test.send, raw, err, test.want)
		}
	}
}

func checksum(text []byte) (sum uint64) {
	for _, b := range text {
		sum = 31*sum + uint64(b)
	}
	return sum
}
