package clienthttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

func TestMain(m *testing.M) { os.Exit(fixture.Run(m)) }

// newServer returns a server with one of everything, and with tools that ask the client.
func newServer(t *testing.T) *mcp.Server {
	s := fixture.New(t, mcp.Options{PageSize: 2})
	for name, handler := range fixture.AskingTools() {
		if err := s.AddTool(mcp.Tool{Name: name}, handler); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// serveWith serves s over HTTP. front sees each request first, and reports whether it has answered.
func serveWith(t *testing.T, s *mcp.Server, front func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	handler := mcphttp.NewHandler(s, mcphttp.Options{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !front(w, r) {
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.CloseClientConnections)
	return web.URL
}

func dial(t *testing.T, server clienthttp.Server, o client.Options) *client.Client {
	t.Helper()
	c, err := clienthttp.Dial(t.Context(), server, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func expectSum(t *testing.T, c *client.Client) {
	t.Helper()
	result, err := c.CallTool(t.Context(), "add", fixture.AddInput{A: 1, B: 2})
	if err != nil || result.Text() != `{"sum":3}` {
		t.Errorf(`add gives %+v, %v; want no error and Text "{\"sum\":3}"`, result, err)
	}
}

// If the server has lost the session, the client begins another one and subscribes again.
func TestHTTPClientLosesSession(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest} {
		server := fixture.New(t, mcp.Options{})
		var forgotten sync.Map
		last := atomic.Value{}
		url := serveWith(t, server, func(w http.ResponseWriter, r *http.Request) bool {
			session := r.Header.Get("Mcp-Session-Id")
			if session != "" {
				last.Store(session)
			}
			if _, ok := forgotten.Load(session); !ok || r.Method != http.MethodPost {
				return false
			}
			http.Error(w, "no such session", status)
			return true
		})
		told := make(chan string, 10)
		c := dial(t, clienthttp.Server{URL: url}, client.Options{Revision: mcp.LatestHandshake, Notification: func(_ context.Context, method string, _ json.RawMessage) { told <- method }})
		first := last.Load().(string)
		forgotten.Store(first, true)
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() { expectSum(t, c) })
		}
		all.Wait()
		if last.Load() == first {
			t.Errorf("the session is still %q, want a new one", first)
		}
		server.RemoveTool("add")
		select {
		case <-told:
		case <-time.After(5 * time.Second):
			t.Error("the client is told nothing in the new session")
		}
	}
}

// A stream that was cut is resumed after its last event.
func TestHTTPClientResumes(t *testing.T) {
	t.Parallel()
	server := fixture.New(t, mcp.Options{})
	err := server.AddTool(mcp.Tool{Name: "steps"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		for i := range 5 {
			mcp.Progress(ctx, float64(i+1), 5, "")
			time.Sleep(20 * time.Millisecond)
		}
		return mcp.TextResult("done"), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var resumed atomic.Int32
	url := serveWith(t, server, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Last-Event-ID") != "" {
			resumed.Add(1)
		}
		return false
	})
	// The connection of a call breaks after the second event, once.
	cutting := &cutter{RoundTripper: http.DefaultTransport, after: 2}
	c := dial(t, clienthttp.Server{URL: url, HTTP: &http.Client{Transport: cutting}}, client.Options{Revision: mcp.LatestHandshake})
	cutting.armed.Store(true)
	var seen []float64
	result, err := c.CallTool(t.Context(), "steps", nil, client.OnProgress(func(p client.Progress) { seen = append(seen, p.Progress) }))
	if err != nil || result.Text() != "done" || fmt.Sprint(seen) != "[1 2 3 4 5]" || resumed.Load() == 0 {
		t.Errorf(`got %+v, %v, the progress %v, resumed %d times; want "done", no error, [1 2 3 4 5] and at least once`, result, err, seen, resumed.Load())
	}
	// Stateless revisions do not support resuming.
	c = dial(t, clienthttp.Server{URL: url, HTTP: &http.Client{Transport: cutting}}, client.Options{Revision: mcp.Latest})
	cutting.armed.Store(true)
	var connection *client.ConnectionError
	if _, err := c.CallTool(t.Context(), "steps", nil, client.OnProgress(func(client.Progress) {})); !errors.As(err, &connection) {
		t.Errorf("without sessions: %v (%T), want a *ConnectionError", err, err)
	}
}

// A cutter, when armed, cuts the next stream that answers a POST after a number of events.
type cutter struct {
	http.RoundTripper
	after int
	armed atomic.Bool
}

func (c *cutter) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && resp.Header.Get("Content-Type") == "text/event-stream" && c.armed.CompareAndSwap(true, false) {
		resp.Body = &cutBody{ReadCloser: resp.Body, in: bufio.NewReader(resp.Body), left: c.after}
	}
	return resp, err
}

type cutBody struct {
	io.ReadCloser
	in   *bufio.Reader
	left int
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	line, err := b.in.ReadString('\n')
	if strings.HasPrefix(line, "data: {") {
		defer func() { b.left-- }()
		line += "\n"
	}
	return copy(p, line), err
}

// The client retries as Retry-After says.
func TestHTTPClientComesAgain(t *testing.T) {
	var refused atomic.Int32
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if refused.Add(1)%2 == 0 {
			return false
		}
		w.Header().Set("Retry-After", "0")
		http.Error(w, "too much to do", http.StatusServiceUnavailable)
		return true
	})
	expectSum(t, dial(t, clienthttp.Server{URL: url}, client.Options{}))
}

func TestHTTPClientTokens(t *testing.T) {
	var valid atomic.Int32
	valid.Store(1)
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("Authorization") == fmt.Sprintf("Bearer t%d", valid.Load()) && r.Header.Get("X-Team") == "blue" {
			return false
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="fixture"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return true
	})
	var asked atomic.Int32
	server := clienthttp.Server{
		URL:    url,
		Header: http.Header{"x-team": {"blue"}},
		Token: func(context.Context) (string, error) {
			asked.Add(1)
			return fmt.Sprintf("t%d", valid.Load()), nil
		},
	}
	c := dial(t, server, client.Options{})
	expectSum(t, c)
	valid.Add(1)
	expectSum(t, c)
	if asked.Load() != 2 {
		t.Errorf("a token was asked for %d times, want 2", asked.Load())
	}
	var refused *clienthttp.HTTPError
	var connection *client.ConnectionError
	_, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: url}, client.Options{})
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || !errors.As(err, &connection) || !strings.Contains(err.Error(), `(Bearer realm="fixture")`) {
		t.Errorf(`without a token: %v; want a *ConnectionError with the status %d, containing "(Bearer realm=\"fixture\")"`, err, http.StatusUnauthorized)
	}
	server.Token = func(context.Context) (string, error) { return "", errors.New("the keychain is locked") }
	if _, err := clienthttp.Dial(t.Context(), server, client.Options{}); err == nil || !strings.Contains(err.Error(), "get a token: the keychain is locked") {
		t.Errorf(`without a token: %v; want an error containing "get a token: the keychain is locked"`, err)
	}
}

// An API key is not sent to another host.
func TestHTTPClientRedirects(t *testing.T) {
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
			return true
		}
		return false
	})
	expectSum(t, dial(t, clienthttp.Server{URL: url + "/old"}, client.Options{}))

	elsewhere := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, url+"/mcp", http.StatusTemporaryRedirect)
		return true
	})
	if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: elsewhere}, client.Options{}); err == nil || !strings.Contains(err.Error(), "redirect to "+url) {
		t.Errorf("to another server: %v; want an error containing %q", err, "redirect to "+url)
	}
	for _, status := range []int{301, 302, 303, 307, 308} {
		reached := false
		other := serveWith(t, fixture.New(t, mcp.Options{}), func(http.ResponseWriter, *http.Request) bool {
			reached = true
			return false
		})
		from := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, other+"/mcp", status)
			return true
		})
		for _, sse := range []bool{false, true} {
			server := clienthttp.Server{URL: from, SSE: sse, Header: http.Header{"X-Api-Token": {"secret"}}}
			if _, err := clienthttp.Dial(t.Context(), server, client.Options{}); err == nil || reached {
				t.Errorf("status %d, with SSE %t: %v, and the other server was reached: %t; want an error and false", status, sse, err, reached)
			}
		}
	}
}

// Headers repeat arguments once the tool is known. A tool with an invalid x-mcp-header is skipped.
func TestHTTPClientHeaders(t *testing.T) {
	server := fixture.New(t, mcp.Options{})
	schema := `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"on":{"type":"boolean","x-mcp-header":"On"}}}`
	if err := server.AddTool(mcp.Tool{Name: "route", InputSchema: json.RawMessage(schema)}, fixture.Nothing); err != nil {
		t.Fatal(err)
	}
	var seen atomic.Pointer[http.Header]
	url := serveWith(t, server, func(w http.ResponseWriter, r *http.Request) bool {
		header := r.Header.Clone()
		seen.Store(&header)
		return false
	})
	c := dial(t, clienthttp.Server{URL: url}, client.Options{})
	for _, arguments := range []string{`{"region":"eu west","n":7,"on":true}`, `{"region":" é\n","n":-1,"on":null}`, `{"region":"","n":0}`, `{"region":"=?base64?eA==?="}`, `{}`} {
		if _, err := c.CallTool(t.Context(), "route", json.RawMessage(arguments)); err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
		got := *seen.Load()
		if got.Get("Mcp-Name") != "route" || got.Get("Mcp-Method") != "tools/call" {
			t.Errorf("%s comes with %v; want Mcp-Name route and Mcp-Method tools/call", arguments, got)
		}
	}
	if _, err := c.GetPrompt(t.Context(), "plain", nil); err != nil {
		t.Error(err)
	}
	if _, err := c.ReadResource(t.Context(), "note://by-id/a%20b?page=1"); err != nil {
		t.Error(err)
	}
}

// The error for a server that is not MCP says so, and has the URL.
func TestHTTPClientOfOtherThings(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"the response has text/html": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") },
		"HTTP status 404":            http.NotFound,
		"HTTP status 500":            func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", 500) },
		"the response is not JSON-RPC": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "{]")
		},
		"has the id of another request": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"jsonrpc":"2.0","id":77,"result":{}}`)
		},
		"stream ended before the response": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, ": nothing\n\n")
		},
		"; send an API key or a token": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
	} {
		web := httptest.NewServer(handler)
		var connection *client.ConnectionError
		_, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: web.URL}, client.Options{ConnectTimeout: 5 * time.Second})
		if !errors.As(err, &connection) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), web.URL) {
			t.Errorf("%s: %v; want a *ConnectionError that names %s and %s", name, err, name, web.URL)
		}
		web.Close()
	}
}

// sseServer serves s over HTTP+SSE, the transport of revision 2024-11-05.
func sseServer(t *testing.T, s *mcp.Server) string {
	t.Helper()
	in := make(chan []byte, 10)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sse", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: endpoint\ndata: /messages?session=1\n\n")
		w.(http.Flusher).Flush()
		ours, theirs := jsonrpc.Pipe()
		go s.Serve(r.Context(), theirs)
		go func() {
			for {
				select {
				case msg := <-in:
					ours.Send(msg)
				case <-r.Context().Done():
					ours.Close()
					return
				}
			}
		}()
		for {
			msg, err := ours.Receive()
			if err != nil {
				return
			}
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", msg)
			w.(http.Flusher).Flush()
		}
	})
	mux.HandleFunc("POST /messages", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		in <- body
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "Accepted")
	})
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return web.URL + "/sse"
}

func TestHTTPClientOfTwoAddresses(t *testing.T) {
	for _, first := range []bool{false, true} {
		o := client.Options{
			Sample: func(_ context.Context, s *mcp.Sampling) error {
				s.Answer.Content = []mcp.Content{mcp.Text{Text: "hm"}}
				return nil
			},
		}
		c := dial(t, clienthttp.Server{URL: sseServer(t, newServer(t)), SSE: first}, o)
		expectSum(t, c)
		if c.Revision() != mcp.LatestHandshake {
			t.Errorf("Revision() = %q, want %q", c.Revision(), mcp.LatestHandshake)
		}
		if result, err := c.CallTool(t.Context(), "ask.model", nil); err != nil || !strings.HasPrefix(result.Text(), "hm") {
			t.Errorf(`ask.model gives %+v, %v; want no error and Text starting with "hm"`, result, err)
		}
		var seen int
		if _, err := c.CallTool(t.Context(), "reports", nil, client.OnProgress(func(client.Progress) { seen++ })); err != nil || seen != 3 {
			t.Errorf("reports: %v, %d times; want no error and 3 times", err, seen)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := c.CallTool(ctx, "waits", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("waits: got %v, want %v", err, context.DeadlineExceeded)
		}
		cancel()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := c.CallTool(t.Context(), "add", nil); err == nil {
			t.Error("a call after Close returned no error, want one")
		}
	}
}

// With HTTP+SSE, calls fail when the stream ends.
func TestHTTPClientLosesStream(t *testing.T) {
	url := sseServer(t, newServer(t))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	carrier := &ending{transport, make(chan struct{})}
	c := dial(t, clienthttp.Server{URL: url, SSE: true, HTTP: &http.Client{Transport: carrier}}, client.Options{})
	done := make(chan error)
	go func() {
		_, err := c.CallTool(t.Context(), "waits", nil)
		done <- err
	}()
	time.Sleep(20 * time.Millisecond)
	close(carrier.end)
	if err := <-done; err == nil || !strings.Contains(err.Error(), "the stream ended") {
		t.Errorf(`the call ends with %v; want an error containing "the stream ended"`, err)
	}
	if _, err := c.CallTool(t.Context(), "add", nil); err == nil || !strings.Contains(err.Error(), "the stream ended") {
		t.Errorf(`the next call ends with %v; want an error containing "the stream ended"`, err)
	}
}

// An endingCarrier ends streams on request.
type ending struct {
	http.RoundTripper
	end chan struct{}
}

func (e *ending) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodGet {
		body := resp.Body
		go func() {
			<-e.end
			body.Close()
		}()
	}
	return resp, err
}

// The error of a wrong URL names the URL, and says once what the server answers.
func TestDialWrongURL(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"%s does not exist"}}`, r.URL.Path)
	}))
	defer web.Close()
	_, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: web.URL + "/wrong"}, client.Options{})
	if want := web.URL + "/wrong: call initialize: HTTP status 404 (Not Found): /wrong does not exist"; err == nil || err.Error() != want {
		t.Errorf("got %v; want the error %q", err, want)
	}
}
