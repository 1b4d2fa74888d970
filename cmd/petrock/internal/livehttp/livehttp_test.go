package livehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/livehttp"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/client/testdata/watch"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.Run(m)) }

// A backend is a server behind the HTTP front, and counts its connections.
type backend struct {
	*mcp.Server
	url   string
	conns atomic.Int32                       // open connections
	ended chan struct{}                      // receives a value for each connection that ended
	cut   atomic.Pointer[context.CancelFunc] // ends the latest connection
}

// newBackend serves a server with one of everything over HTTP.
func newBackend(t *testing.T) *backend {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	b := &backend{Server: fixture.New(t, mcp.Options{Instructions: "Add.", Logger: log, PageSize: 5, Grace: -1}), ended: make(chan struct{}, 100)}
	for name, handler := range fixture.AskingTools() {
		b.add(t, name, handler)
	}
	t.Cleanup(func() {
		if n := b.conns.Load(); n != 0 {
			t.Errorf("%d connections are open, want 0", n)
		}
	})
	b.url = serve(t, func(ctx context.Context, conn jsonrpc.Transport) error {
		b.conns.Add(1)
		defer func() {
			b.conns.Add(-1)
			b.ended <- struct{}{}
		}()
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		b.cut.Store(&stop)
		return b.Serve(ctx, conn)
	})
	return b
}

// serve serves connections over HTTP until the test ends, and returns the URL.
func serve(t *testing.T, connect livehttp.Connect) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	served, ready := make(chan error, 1), make(lineWriter, 1)
	go func() { served <- livehttp.Serve(ctx, ":0", token, connect, ready) }()
	url = readyURL(t, ready)
	t.Cleanup(func() {
		stop()
		if err := receive(t, served, "Serve does not return"); err != nil {
			t.Error(err)
		}
	})
	return url
}

// token is what clients send.
const token = "a-token-of-the-tests"

// readyURL returns the URL that Serve logs when it is ready.
func readyURL(t *testing.T, ready <-chan string) string {
	t.Helper()
	url, _, _ := strings.Cut(strings.TrimPrefix(receive(t, ready, "not ready"), "petrock: serving "), "\n")
	return url
}

// A lineWriter sends each write as a line.
type lineWriter chan string

func (w lineWriter) Write(p []byte) (int, error) {
	w <- strings.TrimSpace(string(p))
	return len(p), nil
}

func (b *backend) add(t *testing.T, name string, h mcp.ToolHandler) {
	t.Helper()
	if err := b.AddTool(mcp.Tool{Name: name}, h); err != nil {
		t.Fatal(err)
	}
}

func (b *backend) dial(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: b.url, Header: http.Header{"Authorization": {"Bearer " + token}}}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func eachRevision(t *testing.T, f func(t *testing.T, r mcp.Revision)) {
	for _, r := range mcp.Revisions() {
		t.Run(string(r), func(t *testing.T) {
			t.Parallel()
			f(t, r)
		})
	}
}

func receive[T any](t *testing.T, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(10 * time.Second):
		t.Fatalf("timeout: %s", what)
	}
	return v
}

// The front changes no result and no error.
func TestSameAsDirect(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		front := b.dial(t, client.Options{Revision: r})
		direct, err := client.InProcess(t.Context(), b.Server, client.Options{Revision: r})
		if err != nil {
			t.Fatal(err)
		}
		defer direct.Close()
		describe := func(c *client.Client) string {
			return fmt.Sprint(c.Revision(), c.Server(), c.Capabilities(), c.Instructions(), c.Supported())
		}
		if got, want := describe(front), describe(direct); got != want {
			t.Errorf("the front describes itself as\n%s, want\n%s", got, want)
		}
		type params = map[string]any
		for _, request := range []struct {
			method string
			params any
		}{
			{"ping", nil},
			{"server/discover", nil},
			{"tools/list", nil},
			{"tools/list", params{"cursor": "no such"}},
			{"tools/call", params{"name": "add", "arguments": params{"a": 1, "b": 2}}},
			{"tools/call", params{"name": "add", "arguments": params{"a": "x"}}},
			{"tools/call", params{"name": "shows"}},
			{"tools/call", params{"name": "fails"}},
			{"tools/call", params{"name": "refuses"}},
			{"tools/call", params{"name": "panics"}},
			{"tools/call", params{"name": "ask"}}, // the client declares no capability
			{"tools/call", params{"name": "unknown"}},
			{"tools/call", params{}},
			{"resources/list", nil},
			{"resources/templates/list", nil},
			{"resources/read", params{"uri": "note://readme"}},
			{"resources/read", params{"uri": "note://by-id/gone"}},
			{"resources/read", params{"uri": "note://unknown"}},
			{"prompts/list", nil},
			{"prompts/get", params{"name": "greet", "arguments": params{"name": "Ada"}}},
			{"completion/complete", params{"ref": params{"type": "ref/prompt", "name": "greet"}, "argument": params{"name": "name", "value": "x"}}},
			{"no/such", params{"a": 1}},
		} {
			answer := func(c *client.Client) string {
				var raw json.RawMessage
				err := c.Request(t.Context(), request.method, request.params, &raw)
				if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
					return fmt.Sprintf("%d %s %s", e.Code, e.Message, e.Data)
				}
				return fmt.Sprintf("%s %v", raw, err)
			}
			if got, want := answer(front), answer(direct); got != want {
				t.Errorf("%s %v\n got %s\nwant %s", request.method, request.params, got, want)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		var all sync.WaitGroup
		for range 3 { // the clients use the same tokens
			c := b.dial(t, client.Options{Revision: r})
			all.Go(func() {
				var seen []float64
				result, err := c.CallTool(t.Context(), "reports", nil, client.OnProgress(func(p client.Progress) { seen = append(seen, p.Progress) }))
				if err != nil || result.Text() != "done" || fmt.Sprint(seen) != "[0 1 2]" {
					t.Errorf(`got %v, %v, progress %v; want "done", no error and [0 1 2]`, result, err, seen)
				}
			})
		}
		all.Wait()
	})
}

// The server asks the client during a call.
func TestQuestions(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		c := b.dial(t, client.Options{
			Revision: r,
			Sample: func(_ context.Context, s *mcp.Sampling) error {
				s.Answer.Content, s.Answer.Model = []mcp.Content{mcp.Text{Text: "Hello"}}, "small"
				return nil
			},
			Elicit: func(_ context.Context, e *mcp.Elicitation) error {
				if strings.Contains(e.Message, "Colour") {
					return jsonrpc.Errorf(-7, "colour-blind")
				}
				e.Action, e.Content = mcp.ActionAccept, json.RawMessage(`{"account":"h","name":"Ada"}`)
				return nil
			},
			Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil },
		})
		wants := map[string]string{"ask.model": "Hello (small, )", "ask.roots": "[{file:///a  map[]}]"}
		if r >= mcp.Revision20250618 {
			wants["ask"] = `accept {"account":"h","copies":1,"name":"Ada","urgent":false}`
			wants["ask.twice"] = "colour-blind"
		}
		for name, want := range wants {
			result, err := c.CallTool(t.Context(), name, nil)
			got := fmt.Sprint(err)
			if err == nil {
				got = result.Text()
			}
			if !strings.Contains(got, strings.TrimSuffix(want, "  map[]}]")) {
				t.Errorf("%s returns %q, want %q", name, got, want)
			}
		}
	})
}

// If the client cancels a call or closes its stream, the handler's context ends.
func TestClientCancels(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		started, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
		b.add(t, "blocks", fixture.Handler(func(ctx context.Context) (string, error) {
			started <- struct{}{}
			<-ctx.Done()
			cancelled <- struct{}{}
			return "", ctx.Err()
		}))
		c := b.dial(t, client.Options{Revision: r})
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-started
			cancel()
		}()
		if _, err := c.CallTool(ctx, "blocks", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("the call: got %v, want %v", err, context.Canceled)
		}
		receive(t, cancelled, "the call is not cancelled")
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// If the server cancels its request, the client's function stops.
func TestServerCancels(t *testing.T) {
	b := newBackend(t)
	sampling, cancelled := make(chan struct{}, 1), make(chan struct{}, 1)
	b.add(t, "impatient", fixture.Handler(func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithCancel(ctx)
		go func() {
			<-sampling
			cancel()
		}()
		err := mcp.Ask(ctx, &mcp.Sampling{MaxTokens: 1, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.Content{mcp.Text{Text: "?"}}}}})
		return fmt.Sprint(errors.Is(err, context.Canceled)), nil
	}))
	c := b.dial(t, client.Options{Revision: mcp.LatestHandshake, Sample: func(ctx context.Context, _ *mcp.Sampling) error {
		sampling <- struct{}{}
		<-ctx.Done()
		cancelled <- struct{}{}
		return ctx.Err()
	}})
	result, err := c.CallTool(t.Context(), "impatient", nil)
	if err != nil || result.Text() != "true" {
		t.Errorf(`got %v, %v; want no error and Text "true"`, result, err)
	}
	receive(t, cancelled, "the client is not notified")
}

// Each client gets the changes and log messages that it asked for.
func TestNotifications(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		changed, updated, logged := make(chan string, 10), make(chan string, 10), make(chan string, 10)
		subscribe := func(name, uri string) (*client.Client, func() error) {
			w := watch.New()
			w.Changed = func(string) { changed <- name }
			w.Updated = func(uri string) { updated <- name + " " + uri }
			w.Logged = func(level, _ string) { logged <- name + " " + level }
			c := b.dial(t, client.Options{Revision: r, Notification: w.Notification})
			stop, err := w.Subscribe(t.Context(), c, uri)
			if err != nil {
				t.Fatal(err)
			}
			return c, stop
		}
		one, stopOne := subscribe("one", "note://readme")
		two, _ := subscribe("two", "note://logo")
		params := map[string]any{"name": "logs"}
		if r == mcp.Latest {
			params["_meta"] = map[string]any{mcp.MetaLogLevel: "error"}
		} else if err := one.Request(t.Context(), "logging/setLevel", map[string]any{"level": "error"}, nil); err != nil {
			t.Fatal(err)
		}
		if err := one.Request(t.Context(), "tools/call", params, nil); err != nil {
			t.Error(err)
		}
		if _, err := two.CallTool(t.Context(), "logs", nil); err != nil {
			t.Error(err)
		}
		if got := receive(t, logged, "no log message"); got != "one error" {
			t.Errorf(`log message: got %q, want "one error"`, got)
		}
		b.ResourceUpdated("note://readme")
		if got := receive(t, updated, "no update"); got != "one note://readme" {
			t.Errorf(`update: got %q, want "one note://readme"`, got)
		}
		b.add(t, "new", fixture.Nothing)
		names := []string{receive(t, changed, "no list_changed"), receive(t, changed, "one list_changed only")}
		slices.Sort(names)
		if fmt.Sprint(names) != "[one two]" {
			t.Errorf(`after list_changed the tools are %v, want [one two]`, names)
		}
		if err := stopOne(); err != nil {
			t.Fatal(err)
		}
		b.ResourceUpdated("note://readme")
		b.ResourceUpdated("note://logo")
		if got := receive(t, updated, "no update"); got != "two note://logo" {
			t.Errorf(`update: got %q, want "two note://logo"`, got)
		}
		if len(logged)+len(changed)+len(updated) > 0 {
			t.Errorf("got %d log messages, %d list changes and %d updates; want none", len(logged), len(changed), len(updated))
		}
	})
}

// The end of a session ends its connection, and only that.
func TestSessionEnds(t *testing.T) {
	b := newBackend(t)
	one, two := b.dial(t, client.Options{Revision: mcp.LatestHandshake}), b.dial(t, client.Options{Revision: mcp.LatestHandshake})
	if n := b.conns.Load(); n != 2 {
		t.Errorf("%d connections are open, want 2", n)
	}
	one.Close()
	receive(t, b.ended, "the connection stays open")
	if err := two.Ping(t.Context()); err != nil || b.conns.Load() != 1 {
		t.Errorf("the other session: %v, %d connections; want no error and 1", err, b.conns.Load())
	}
	for range 3 {
		b.dial(t, client.Options{Revision: mcp.Latest})
	}
	if n := b.conns.Load(); n != 2 {
		t.Errorf("%d connections are open, want 2", n)
	}
}

// If the server ends the connection, calls fail. Clients without a session can go on.
func TestServerEnds(t *testing.T) {
	eachRevision(t, func(t *testing.T, r mcp.Revision) {
		b := newBackend(t)
		started := make(chan struct{})
		b.add(t, "blocks", fixture.Handler(func(ctx context.Context) (string, error) {
			close(started)
			<-ctx.Done()
			time.Sleep(2 * time.Second) // longer than the server waits at its end
			return "", ctx.Err()
		}))
		c := b.dial(t, client.Options{Revision: r})
		go func() {
			<-started
			(*b.cut.Load())()
		}()
		_, err := c.CallTool(t.Context(), "blocks", nil)
		if err == nil || !strings.Contains(err.Error(), "the server has ended the connection") {
			t.Errorf(`the call in flight returns %v; want an error containing "the server has ended the connection"`, err)
		}
		err = c.Ping(t.Context())
		if r == mcp.Latest && err != nil {
			t.Errorf("%s: the next call returns %v, want no error", r, err)
		}
		if r != mcp.Latest && (err == nil || !strings.Contains(err.Error(), "start a new session")) {
			t.Errorf(`%s: the next call returns %v, want "start a new session"`, r, err)
		}
	})
}
