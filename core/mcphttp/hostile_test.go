package mcphttp_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// newRequest returns an HTTP request for a handler that is called directly. Headers are "Name:
// value".
func newRequest(ctx context.Context, method, body string, headers ...string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, "/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// serve calls a handler directly.
func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// beginSession starts a session with a handler that is called directly.
func beginSession(t *testing.T, h http.Handler, r mcp.Revision) string {
	t.Helper()
	w := serve(h, newRequest(t.Context(), "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(r)+`","capabilities":{"elicitation":{}}}}`))
	id := "Mcp-Session-Id: " + w.Header().Get("Mcp-Session-Id")
	if w := serve(h, newRequest(t.Context(), "POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, id)); w.Code != 202 {
		t.Fatalf("initialized gets %d %s, want 202", w.Code, w.Body)
	}
	return id
}

// A recorder records what a client was sent.
type recorder struct {
	header http.Header
	text   bytes.Buffer
	held   chan struct{} // until it is closed, writes wait; nil if they do not
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (s *recorder) Header() http.Header { return s.header }
func (s *recorder) WriteHeader(int)     {}
func (s *recorder) Flush()              {}

func (s *recorder) Write(p []byte) (int, error) {
	if s.held != nil {
		<-s.held
	}
	return s.text.Write(p)
}

// A memoryListener is an in-memory listener. Its connections have no buffer.
type memoryListener chan net.Conn

func (l memoryListener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l memoryListener) Addr() net.Addr { return &net.TCPAddr{} }
func (l memoryListener) Close() error   { close(l); return nil }

// dial connects a client and sends a request.
func (l memoryListener) dial(t *testing.T, body string, headers ...string) net.Conn {
	t.Helper()
	here, there := net.Pipe()
	l <- there
	t.Cleanup(func() { here.Close() })
	r := newRequest(t.Context(), "POST", body, headers...)
	if err := r.Write(here); err != nil {
		t.Fatal(err)
	}
	return here
}

// serveInMemory serves a handler over a memoryListener until the end of the test.
func serveInMemory(t *testing.T, h *mcphttp.Handler) memoryListener {
	l := make(memoryListener)
	web := &http.Server{Handler: h}
	go func() { _ = web.Serve(l) }()
	t.Cleanup(func() { web.Close() })
	return l
}

// shutDown shuts a handler down.
func shutDown(t *testing.T, h *mcphttp.Handler) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := h.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// newToolServer returns a server with one tool.
func newToolServer(t *testing.T, o mcp.Options, name string, h mcp.ToolHandler) *mcp.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = quietLogger()
	}
	s := mcp.NewServer(mcp.Implementation{Name: "hostile", Version: "1"}, o)
	if err := s.AddTool(mcp.Tool{Name: name}, h); err != nil {
		t.Fatal(err)
	}
	return s
}

func callOf(id, name, meta string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"` + meta + `}}`
}

const withProgress = `,"_meta":{"progressToken":1}`

// A session has ended when the client gets the response to DELETE.
func TestHTTPDeleted(t *testing.T) {
	h := mcphttp.NewHandler(newFixture(t, mcp.Options{Logger: quietLogger()}), mcphttp.Options{})
	for range 20 {
		id := beginSession(t, h, mcp.LatestHandshake)
		if w := serve(h, newRequest(t.Context(), "DELETE", "", id)); w.Code != 204 {
			t.Fatal(w.Code)
		}
		if w := serve(h, newRequest(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id)); w.Code != 404 {
			t.Fatalf("after DELETE a request gets %d, want 404", w.Code)
		}
	}
}

// The messages of a batch are served concurrently.
func TestHTTPBatch(t *testing.T) {
	began := make(chan struct{})
	s := newTestSite(t, newToolServer(t, mcp.Options{}, "waits", func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		<-began
		return nil, nil
	}), mcphttp.Options{MaxCalls: 4, ClientShare: 100, KeepAlive: 10 * time.Millisecond})
	id, later := s.begin(mcp.Revision20250326), s.begin(mcp.LatestHandshake)
	of := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	modern := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	for _, test := range []struct {
		name, id, body string
		status         int
		want           string
	}{
		{"that name their revision", id, `[` + modern + `,` + strings.Replace(modern, `"id":1`, `"id":2`, 1) + `]`, 200, "-32020"},
		{"not JSON", id, `[{"jsonrpc":"2.0"`, 400, "-32700"},
		{"empty", id, `[]`, 400, "-32600"},
		{"in a revision without", later, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, 400, "-32600"},
		{"of too many", id, of(5, `{"jsonrpc":"2.0","id":1,"method":"ping"}`), 400, "a batch may have at most 4 requests, got 5"}, // not 429, which asks for another try
		{"of notifications", id, of(5, `{"jsonrpc":"2.0","method":"notifications/x"}`), 202, ""},
	} {
		if a := s.post(test.id, test.body); a.StatusCode != test.status || !strings.Contains(a.body, test.want) {
			t.Errorf("%s: got %s %s; want the status %d and %q in the body", test.name, a.Status, a.body, test.status, test.want)
		}
	}
	// One that takes long is answered by a stream, as a call is.
	r := s.open("POST", of(1, callOf("1", "waits", "")), "Mcp-Session-Id: "+id)
	close(began)
	if text, err := io.ReadAll(r.Body); err != nil || r.Header.Get("Content-Type") != "text/event-stream" || !strings.Contains(string(text), `data: [{"jsonrpc":"2.0","id":1,`) {
		t.Errorf(`a long batch gives %s %q, %v; want text/event-stream, data: [{"jsonrpc":"2.0","id":1, and no error`, r.Header.Get("Content-Type"), text, err)
	}
}

// The client gets its session id even if the response to initialize is a stream.
func TestHTTPInitializeStream(t *testing.T) {
	s := newTestSite(t, newToolServer(t, mcp.Options{Hook: func(ctx context.Context, c *mcp.Call, next func(context.Context) (any, error)) (any, error) {
		mcp.Progress(ctx, 1, 0, "")
		return next(ctx)
	}}, "x", fixture.Nothing), mcphttp.Options{})
	a := s.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","_meta":{"progressToken":1}}}`)
	if a.Header.Get("Content-Type") != "text/event-stream" || a.Header.Get("Mcp-Session-Id") == "" || !strings.Contains(a.body, `"serverInfo"`) {
		t.Errorf(`got %v %s; want the type text/event-stream, the header Mcp-Session-Id and "serverInfo"`, a.Header, a.body)
	}
}

// A hookContext is a context that calls f at the first call of Value.
type hookContext struct {
	context.Context
	f func()
}

func (m *hookContext) Value(key any) any {
	if f := m.f; f != nil {
		m.f = nil
		f()
	}
	return m.Context.Value(key)
}

// A session that starts during shutdown ends with it.
func TestHTTPSessionDuringShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "x", fixture.Nothing), mcphttp.Options{Client: func(*http.Request) string { return "" }})
		ended := make(chan error, 1)
		ctx := &hookContext{t.Context(), func() { // counted, but cannot be found yet
			go func() { ended <- h.Shutdown(t.Context()) }()
			synctest.Wait()
		}}
		w := serve(h, newRequest(ctx, "POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`))
		if id := w.Header().Get("Mcp-Session-Id"); w.Code != 503 || id != "" {
			t.Errorf("initialize gives %d, session %q; want 503 and no session", w.Code, id)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A session that a request uses does not end because it was idle before.
func TestHTTPSessionInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "x", fixture.Nothing), mcphttp.Options{SessionIdle: time.Minute})
		id := beginSession(t, h, mcp.LatestHandshake)
		ctx := &hookContext{t.Context(), func() { time.Sleep(10 * time.Minute) }}
		if w := serve(h, newRequest(ctx, "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, id)); w.Code != 404 && !strings.Contains(w.Body.String(), `"tools":[`) {
			t.Errorf("got %d %s", w.Code, w.Body)
		}
		shutDown(t, h)
	})
}

// A session ends soon after its idle timeout.
func TestHTTPIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "x", fixture.Nothing), mcphttp.Options{SessionIdle: time.Minute})
		for _, test := range []struct {
			after time.Duration
			want  int
		}{{59 * time.Second, 200}, {76 * time.Second, 404}} {
			for _, phase := range []time.Duration{0, 7 * time.Second, 14 * time.Second} { // wherever it falls between two looks
				time.Sleep(phase)
				id := beginSession(t, h, mcp.LatestHandshake)
				time.Sleep(20 * time.Second)
				ask := func() int {
					return serve(h, newRequest(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id)).Code
				}
				if got := ask(); got != 200 {
					t.Fatalf("a ping gets %d, want 200", got)
				}
				time.Sleep(test.after)
				if got := ask(); got != test.want {
					t.Errorf("%v after the last use a ping gives %d, want %d", test.after, got, test.want)
				}
			}
		}
		shutDown(t, h)
	})
}

// A call that waits for its client does not keep an abandoned session alive.
func TestHTTPAbandonedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "asks", fixture.Handler(func(ctx context.Context) (string, error) { return "", mcp.Ask(ctx, nameForm()) })), mcphttp.Options{SessionIdle: time.Minute})
		id := beginSession(t, h, mcp.LatestHandshake)
		ctx, leave := context.WithCancel(t.Context())
		over := false
		go func() {
			h.ServeHTTP(newRecorder(), newRequest(ctx, "POST", callOf("1", "asks", ""), id))
			over = true
		}()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if over {
			t.Error("the session ended while its client was connected")
		}
		leave()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if !over {
			t.Error("the call still waits for a client that is gone, want it ended")
			serve(h, newRequest(t.Context(), "DELETE", "", id))
		}
		shutDown(t, h)
	})
}

// A replaced reader of a stream gets no further messages.
func TestHTTPReplacedReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newToolServer(t, mcp.Options{}, "x", fixture.Nothing)
		h := mcphttp.NewHandler(server, mcphttp.Options{KeepAlive: time.Hour})
		id := beginSession(t, h, mcp.LatestHandshake)
		first, second := newRecorder(), newRecorder()
		first.held = make(chan struct{}) // in the midst of its first event
		go h.ServeHTTP(first, newRequest(t.Context(), "GET", "", id))
		synctest.Wait()
		go h.ServeHTTP(second, newRequest(t.Context(), "GET", "", id))
		synctest.Wait()
		server.RemoveTool("x")
		time.Sleep(time.Second)
		close(first.held)
		synctest.Wait()
		if strings.Contains(first.text.String(), "list_changed") || !strings.Contains(second.text.String(), "list_changed") {
			t.Errorf(`the first is told %q and the second %q; want "list_changed" only in the second`, first.text.String(), second.text.String())
		}
		shutDown(t, h)
	})
}

// A refused request does not replace a reader.
func TestHTTPRefusedReader(t *testing.T) {
	server := newToolServer(t, mcp.Options{}, "x", fixture.Nothing)
	s := newTestSite(t, server, mcphttp.Options{})
	id := s.begin(mcp.LatestHandshake)
	events := bufio.NewReader(s.open("GET", "", "Mcp-Session-Id: "+id).Body)
	next(t, events)
	if a := s.do("GET", "", "Mcp-Session-Id: "+id, "Last-Event-ID: 0-0", "Last-Event-ID: 0-1"); a.StatusCode != 400 {
		t.Errorf("two Last-Event-ID headers get %s, want 400", a.Status)
	}
	server.RemoveTool("x")
	if e := next(t, events); !strings.Contains(e, "list_changed") {
		t.Errorf(`the reader is told %q, want it to contain "list_changed"`, e)
	}
}

// A client that does not read its response does not hold its call quota forever.
func TestHTTPUnread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "talks", func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			return mcp.TextResult(strings.Repeat("x", 10_000)), nil
		}), mcphttp.Options{MaxCalls: 1})
		l := serveInMemory(t, h)
		l.dial(t, callOf("1", "talks", ","+meta), statelessHeaders("tools/call", "talks")...)
		time.Sleep(time.Minute)
		if w := serve(h, newRequest(t.Context(), "POST", callOf("1", "talks", ","+meta), statelessHeaders("tools/call", "talks")...)); w.Code != 200 {
			t.Errorf("another client gets %d %s, want 200", w.Code, w.Body)
		}
		shutDown(t, h)
	})
}

// A client that reads slowly gets all of a large event.
func TestHTTPSlowLargeEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newToolServer(t, mcp.Options{}, "talks", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			mcp.Progress(ctx, 1, 0, "")
			return mcp.TextResult(strings.Repeat("x", 1_000_000) + "the end"), nil
		}), mcphttp.Options{})
		id := beginSession(t, h, mcp.LatestHandshake)
		conn := serveInMemory(t, h).dial(t, callOf("1", "talks", withProgress), id)
		var all []byte
		for buf := make([]byte, 64<<10); !bytes.Contains(all, []byte("the end")); {
			n, err := conn.Read(buf)
			if err != nil {
				t.Fatalf("after %d bytes: %v", len(all), err)
			}
			all = append(all, buf[:n]...)
			time.Sleep(3 * time.Second)
		}
		conn.Close()
		shutDown(t, h)
	})
}

// A call whose client does not read does not drop events of another call.
func TestHTTPUnreadCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newToolServer(t, mcp.Options{}, "floods", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			for i := range 100 {
				mcp.Progress(ctx, float64(i+1), 0, strings.Repeat("x", 1000))
			}
			<-ctx.Done()
			return nil, nil
		})
		if err := server.AddTool(mcp.Tool{Name: "counts"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			for i := range 50 {
				mcp.Progress(ctx, float64(i+1), 0, "")
			}
			return mcp.TextResult("counted"), nil
		}); err != nil {
			t.Fatal(err)
		}
		h := mcphttp.NewHandler(server, mcphttp.Options{ReplayBuffer: 50_000})
		id := beginSession(t, h, mcp.LatestHandshake)
		slow, quick := newRecorder(), newRecorder()
		slow.held = make(chan struct{})
		go h.ServeHTTP(slow, newRequest(t.Context(), "POST", callOf("1", "floods", withProgress), id))
		synctest.Wait()
		h.ServeHTTP(quick, newRequest(t.Context(), "POST", callOf("2", "counts", withProgress), id))
		if n := strings.Count(quick.text.String(), `"progress":`); n != 50 || !strings.Contains(quick.text.String(), "counted") {
			t.Errorf("the quick reader gets %d of 50 events:\n%.2000s\nwant all, and the answer counted", n, quick.text.String())
		}
		close(slow.held)
		serve(h, newRequest(t.Context(), "DELETE", "", id))
		synctest.Wait()
		shutDown(t, h)
	})
}

// Delivered events are dropped before an undelivered answer. An answer above the size limit is
// dropped once it has been delivered.
func TestHTTPReplayLimit(t *testing.T) {
	server, step := newStreamingServer(t)
	if err := server.AddTool(mcp.Tool{Name: "tells"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 0, "")
		return mcp.TextResult(strings.Repeat("x", 30_000)), nil
	}); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{ReplayBuffer: 50_000})
	session := s.begin(mcp.LatestHandshake)
	suspended := s.post(session, callOf("1", "suspends", ""))
	step <- struct{}{}
	var told []string
	for range 4 {
		told = append(told, idOf(s.post(session, callOf("2", "tells", withProgress)).body))
	}
	if a := s.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+idOf(suspended.body)); !strings.Contains(a.body, "worth the wait") {
		t.Errorf(`a client that was away gets %s %q, want "worth the wait" in it`, a.Status, a.body)
	}
	if a := s.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+told[0]); a.StatusCode != 400 {
		t.Errorf("the oldest event is resumed with %s, want 400", a.Status)
	}
	if a := s.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+told[3]); a.StatusCode != 200 {
		t.Errorf("the newest event is resumed with %s %q, want 200", a.Status, a.body)
	}
	// Earlier events are dropped before the answer is.
	if err := server.AddTool(mcp.Tool{Name: "chats"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		for i := range 20 {
			mcp.Progress(ctx, float64(i+1), 0, strings.Repeat("x", 3_000))
		}
		return mcp.TextResult("a short answer" + strings.Repeat("y", 3_000)), nil
	}); err != nil {
		t.Fatal(err)
	}
	chat := s.post(session, callOf("2", "chats", withProgress)).body
	if a := s.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+idOf(chat)); !strings.Contains(a.body, "a short answer") {
		t.Errorf(`after many events, the answer is %s %q, want "a short answer" in it`, a.Status, a.body)
	}
	small := newTestSite(t, server, mcphttp.Options{ReplayBuffer: 20_000})
	session = small.begin(mcp.LatestHandshake)
	last := idOf(small.post(session, callOf("2", "tells", withProgress)).body)
	if a := small.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last); a.StatusCode != 400 {
		t.Errorf("an event larger than the limit is resumed with %s, want 400", a.Status)
	}
}
