package livehttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/cmd/petrock/internal/livehttp"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// post sends a message with headers, given as "Name: value". Any goroutine may call it.
func post(ctx context.Context, t *testing.T, url, body string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return &http.Response{Body: http.NoBody}
	}
	t.Cleanup(func() { response.Body.Close() })
	return response
}

// messages returns the messages of a response, which is JSON or a stream.
func messages(t *testing.T, r *http.Response) []string {
	t.Helper()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if r.Header.Get("Content-Type") != "text/event-stream" {
		return []string{string(text)}
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			all = append(all, strings.TrimSpace(data))
		}
	}
	return all
}

// nextMessage returns the next message of a stream.
func nextMessage(t *testing.T, from *bufio.Reader) string {
	t.Helper()
	for {
		line, err := from.ReadString('\n')
		if err != nil {
			t.Fatalf("read the stream: %v", err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.TrimSpace(data) != "" {
			return strings.TrimSpace(data)
		}
	}
}

func TestStatus(t *testing.T) {
	b := newBackend(t)
	for _, test := range []struct {
		name, body string
		headers    []string
		status     int
		want       string
	}{
		{"a call", `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"nothing",` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: nothing"}, 200, `{"jsonrpc":"2.0","id":"a","result":{`},
		{"no header Mcp-Method", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28"}, 400, `-32020`},
		{"another name in the header", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nothing",` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: add"}, 400, `-32020`},
		{"an unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such","params":{` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: no/such"}, 404, `-32601`},
		{"no revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, 400, `-32602`},
		{"no revision in initialize", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: initialize"}, 400, `-32602`},
		{"no capabilities", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"}, 400, `-32602`},
		{"an unknown revision", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2030-01-01"}}}`,
			[]string{"MCP-Protocol-Version: 2030-01-01", "Mcp-Method: tools/list"}, 400, `-32022`},
		{"a question to a client without the capability", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask.roots",` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: ask.roots"}, 400, `-32021`},
		{"wrong params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"unknown",` + meta + `}}`,
			[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: unknown"}, 200, `-32602`},
		{"initialize without a version", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil, 200, `-32602`},
		{"no session", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, 400, `-32600`},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := post(t.Context(), t, b.url, test.body, test.headers...)
			if all := messages(t, r); r.StatusCode != test.status || !strings.Contains(all[len(all)-1], test.want) {
				t.Errorf("got %d %q, want %d %s", r.StatusCode, all, test.status, test.want)
			}
			if id := r.Header.Get("Mcp-Session-Id"); id != "" {
				t.Errorf(`started session: got %q, want ""`, id)
			}
		})
	}
}

// Unrelated clients may use the same ids and progress tokens at the same time.
func TestEqualIDs(t *testing.T) {
	b := newBackend(t)
	var meet sync.WaitGroup
	meet.Add(3)
	b.add(t, "meets", func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 0, string(arguments))
		meet.Done()
		meet.Wait()
		return mcp.TextResult(string(arguments)), nil
	})
	var all sync.WaitGroup
	for i := range 3 {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"meets","arguments":{"n":%d},%s,"progressToken":"p"}}}`, i, strings.TrimSuffix(meta, "}"))
		r := make(chan *http.Response, 1)
		all.Go(func() {
			r <- post(t.Context(), t, b.url, body, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: meets")
			got := messages(t, <-r)
			want := fmt.Sprintf(`{\"n\":%d}`, i)
			if len(got) != 2 || !strings.Contains(got[0], `"progressToken":"p"`) || !strings.Contains(got[0], want) || !strings.Contains(got[1], want) || !strings.Contains(got[1], `"id":1,`) {
				t.Errorf("call %d: got %q", i, got)
			}
		})
	}
	all.Wait()
}

// A session of revision 2025-03-26 has batches. Their answers and notifications share one response.
func TestBatch(t *testing.T) {
	b := newBackend(t)
	r := post(t.Context(), t, b.url, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	session := "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
	messages(t, r)
	if r := post(t.Context(), t, b.url, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, session); r.StatusCode != 202 {
		t.Fatalf("initialized: got %v, want 202 (Status %q)", r.StatusCode, r.Status)
	}
	got := messages(t, post(t.Context(), t, b.url, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"reports","_meta":{"progressToken":7}}}]`, session))
	if len(got) != 4 || strings.Count(strings.Join(got[:3], ""), `"progressToken":7`) != 3 || !strings.HasPrefix(got[3], `[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,`) {
		t.Errorf(`got %q; want three messages with "progressToken":7, and the batch with the results of 1 and 2`, got)
	}
}

// Messages of the server outside of a call go to the stream that the client opened with GET.
func TestStandaloneStream(t *testing.T) {
	clients := make(chan jsonrpc.Transport, 1)
	done := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() {
		served <- livehttp.Serve(ctx, ":0", token, func(ctx context.Context, conn jsonrpc.Transport) error {
			clients <- conn
			<-ctx.Done()
			close(done)
			return nil
		}, lineWriter(ready))
	}()
	url := readyURL(t, ready)
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf(`url = %q, want the prefix "http://127.0.0.1:"`, url)
	}
	var server jsonrpc.Transport
	receiveFromClient := func() string {
		t.Helper()
		got := make(chan string, 1)
		go func() {
			msg, _ := server.Receive()
			got <- string(msg)
		}()
		return receive(t, got, "nothing from the client")
	}
	initialized := make(chan *http.Response, 1)
	go func() {
		initialized <- post(ctx, t, url, `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18"}}`)
	}()
	server = receive(t, clients, "no connection")
	if got := receiveFromClient(); got != `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}` {
		t.Errorf(`the server receives: got %q, want "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}"`, got)
	}
	server.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}`))
	server.Send([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"x":{}}}}`))
	r := receive(t, initialized, "no answer")
	if got := messages(t, r); got[0] != `{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"x":{}}}}` {
		t.Errorf(`initialize: got %q, want "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"x\":{}}}}" (%q)`, got[0], got)
	}
	session := "Mcp-Session-Id: " + r.Header.Get("Mcp-Session-Id")
	get, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	get.Header.Set("Mcp-Session-Id", r.Header.Get("Mcp-Session-Id"))
	get.Header.Set("Authorization", "Bearer "+token)
	opened, err := http.DefaultClient.Do(get)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Body.Close()
	stream := bufio.NewReader(opened.Body)
	for _, step := range []struct{ send, want string }{
		{``, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"early"}}`},
		{`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q"}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"the peer cancelled the request","requestId":1}}`},
		{`{"jsonrpc":"2.0","id":"q2","method":"roots/list","params":{}}`, `{"jsonrpc":"2.0","id":2,"method":"roots/list","params":{}}`},
		{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
	} {
		if step.send != "" {
			server.Send([]byte(step.send))
		}
		if got := nextMessage(t, stream); got != step.want {
			t.Errorf("after %s the stream has\n%s, want\n%s", step.send, got, step.want)
		}
	}
	post(ctx, t, url, `{"jsonrpc":"2.0","id":2,"error":{"code":-9,"message":"no","data":[1]}}`, session)
	if got := receiveFromClient(); got != `{"jsonrpc":"2.0","id":"q2","error":{"code":-9,"message":"no","data":[1]}}` {
		t.Errorf(`the server receives: got %q, want "{\"jsonrpc\":\"2.0\",\"id\":\"q2\",\"error\":{\"code\":-9,\"message\":\"no\",\"data\":[1]}}"`, got)
	}
	post(ctx, t, url, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`, session)
	if got := receiveFromClient(); got != `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` {
		t.Errorf(`the server receives: got %q, want "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}"`, got)
	}
	stop()
	if err := receive(t, served, "Serve does not return"); err != nil {
		t.Error(err)
	}
	receive(t, done, "the connection stays open")
}

// Requests and log messages of the server go to the oldest call in flight, progress to its own
// call.
func TestOldestCall(t *testing.T) {
	clients := make(chan jsonrpc.Transport, 1)
	url := serve(t, func(ctx context.Context, conn jsonrpc.Transport) error {
		clients <- conn
		<-ctx.Done()
		return nil
	})
	var server jsonrpc.Transport
	// call posts a request, and returns the response when the server has received the request.
	call := func(body string, headers ...string) <-chan *http.Response {
		response := make(chan *http.Response, 1)
		go func() { response <- post(t.Context(), t, url, body, headers...) }()
		if server == nil {
			server = receive(t, clients, "no connection")
		}
		if _, err := server.Receive(); err != nil {
			t.Fatal(err)
		}
		return response
	}
	response := call(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	server.Send([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}`))
	session := "Mcp-Session-Id: " + receive(t, response, "no answer").Header.Get("Mcp-Session-Id")
	first := call(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"_meta":{"progressToken":"t"}}}`, session)
	second := call(`{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{"_meta":{"progressToken":"u"}}}`, session)
	for _, msg := range []string{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":2,"progress":1}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"first":true}}`,
	} {
		server.Send([]byte(msg))
	}
	got := messages(t, receive(t, first, "no answer"))
	if want := []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}`, `{"jsonrpc":"2.0","id":"a","result":{"first":true}}`}; !slices.Equal(got, want) {
		t.Errorf("the first call gets: got %q, want %q", got, want)
	}
	server.Send([]byte(`{"jsonrpc":"2.0","id":7,"method":"roots/list"}`))
	stream := bufio.NewReader(receive(t, second, "no answer").Body)
	for _, want := range []string{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"u","progress":1}}`, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`} {
		if got := nextMessage(t, stream); got != want {
			t.Errorf("the second call gets %s, want %s", got, want)
		}
	}
	receive(t, call(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}`, session), "no answer")
}

// A listen request gets notifications with its own id. It ends with the server, or with its stream.
func TestListen(t *testing.T) {
	b := newBackend(t)
	ctx, stop := context.WithCancel(t.Context())
	var streams []*bufio.Reader
	for _, filter := range []string{`"toolsListChanged":true`, `"resourceSubscriptions":["note://readme"]`} {
		r := post(ctx, t, b.url, `{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{`+filter+`},`+meta+`}}`,
			"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
		stream := bufio.NewReader(r.Body)
		streams = append(streams, stream)
		if got := nextMessage(t, stream); !strings.Contains(got, "acknowledged") || !strings.Contains(got, `subscriptionId":"sub"`) {
			t.Errorf(`the stream begins with %s; want got containing "acknowledged" and "subscriptionId\":\"sub\""`, got)
		}
	}
	b.add(t, "new", fixture.Nothing)
	b.ResourceUpdated("note://readme")
	for i, want := range []string{"tools/list_changed", "resources/updated"} {
		if got := nextMessage(t, streams[i]); !strings.Contains(got, want) || !strings.Contains(got, `subscriptionId":"sub"`) {
			t.Errorf(`stream %d has %s; want got containing %q and "subscriptionId\":\"sub\""`, i, got, want)
		}
	}
	stop() // the test ends without waiting for the streams
}

// Shutdown ends subscriptions without waiting.
func TestServeEndsSubscriptions(t *testing.T) {
	server := fixture.New(t, mcp.Options{})
	ctx, stop := context.WithCancel(t.Context())
	served, ready := make(chan error, 1), make(chan string, 1)
	go func() { served <- livehttp.Serve(ctx, "127.0.0.1:0", token, server.Serve, lineWriter(ready)) }()
	url := readyURL(t, ready)
	r := post(t.Context(), t, url, `{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`,
		"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
	stream := bufio.NewReader(r.Body)
	nextMessage(t, stream)
	began := time.Now()
	stop()
	if got := nextMessage(t, stream); got != `{"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":5}}}` {
		t.Errorf("the stream ends: got %q, want %q", got, `{"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":5}}}`)
	}
	if err := receive(t, served, "Serve does not return"); err != nil || time.Since(began) > 5*time.Second {
		t.Errorf("Serve returned %v after %v; want no error after at most 5s", err, time.Since(began))
	}
}

// Callers need the token, and pages of other origins, including other ports of this machine, cannot
// call.
func TestAccess(t *testing.T) {
	b := newBackend(t)
	const discover = `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`
	for _, test := range []struct {
		header string
		status int
	}{
		{"Accept: application/json, text/event-stream", 200},
		{"Origin: " + strings.TrimSuffix(b.url, "/mcp"), 200},
		{"Authorization: Bearer wrong-token-of-the-tests", 401},
		{"Authorization: Bearer ", 401},
		{"Authorization: Basic " + token, 401},
		{"Origin: http://localhost:5173", 403},
		{"Origin: http://127.0.0.1:5173", 403},
		{"Origin: https://app.example.com", 403},
		{"Origin: null", 403},
	} {
		r := post(t.Context(), t, b.url, discover, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: server/discover", test.header)
		if r.StatusCode != test.status {
			t.Errorf("%s: status %d, want %d", test.header, r.StatusCode, test.status)
		}
	}
}

// Without a token Serve makes one, which differs each time, and prints it. It does not print a
// token that the user has set.
func TestToken(t *testing.T) {
	server := fixture.New(t, mcp.Options{})
	start := func(token string) string {
		t.Helper()
		ctx, stop := context.WithCancel(t.Context())
		served, ready := make(chan error, 1), make(lineWriter, 1)
		go func() { served <- livehttp.Serve(ctx, ":0", token, server.Serve, ready) }()
		printed := receive[string](t, ready, "not ready")
		stop()
		if err := receive(t, served, "Serve does not return"); err != nil {
			t.Error(err)
		}
		_, printed, _ = strings.Cut(printed, "the header Authorization: Bearer ")
		printed, _, _ = strings.Cut(printed, "\n")
		return printed
	}
	if first, second := start(""), start(""); len(first) < 20 || first == second {
		t.Errorf("the tokens are %q and %q; want different ones of at least 20 characters", first, second)
	}
	if printed := start(token); printed != "$PETROCK_DEV_TOKEN" {
		t.Errorf("with a token of the user it prints %q, want $PETROCK_DEV_TOKEN", printed)
	}
	if err := livehttp.Serve(t.Context(), ":0", "short", server.Serve, io.Discard); err == nil || !strings.HasPrefix(err.Error(), "PETROCK_DEV_TOKEN: the key has 5 characters") {
		t.Errorf(`a short token: %v; want an error starting with "PETROCK_DEV_TOKEN: the key has 5 characters"`, err)
	}
}

// Other machines cannot connect.
func TestServeRefusesAddress(t *testing.T) {
	server := fixture.New(t, mcp.Options{})
	for addr, want := range map[string]string{"0.0.0.0:0": "other machines could connect", "8181": "must be host:port"} {
		if err := livehttp.Serve(t.Context(), addr, token, server.Serve, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want an error containing %q", addr, err, want)
		}
	}
}
