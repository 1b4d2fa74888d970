package mcphttp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// A client that has used up its share does not affect other clients.
func TestClientShare(t *testing.T) {
	server := newFixture(t, mcp.Options{})
	if err := server.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{+name}", Name: "note"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	const ann, bob = "X-Test-User: ann", "X-Test-User: bob"
	initialize := func(s *testSite, info string) string {
		return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"` + info + `","version":"1"}}}`
	}
	subscribe := func(uri string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://` + uri + `"}}`
	}
	for _, test := range []struct {
		name    string
		options mcphttp.Options
		most    int // how many of ann's succeed, at most
		use     func(s *testSite, user, session string, i int) response
		says    string
	}{
		{"sessions", mcphttp.Options{MaxSessions: 12}, 2, func(s *testSite, user, _ string, _ int) response {
			return s.do("POST", initialize(s, "t"), user)
		}, "this client has reached its limit of 3 sessions"},
		{"what a client says of itself", mcphttp.Options{MaxMemory: 12 << 20}, 4, func(s *testSite, user, _ string, _ int) response {
			return s.do("POST", initialize(s, strings.Repeat("x", 700_000)), user)
		}, "this client has reached its limit of 3145728 bytes held"},
		{"subscriptions", mcphttp.Options{MaxMemory: 100 << 10, MaxBody: 25 << 10}, 25, func(s *testSite, user, session string, i int) response {
			return s.post(session, subscribe(fmt.Sprint(i)), user)
		}, "this client has reached its limit of 25600 bytes held"},
		{"streams", mcphttp.Options{MaxStreams: 8}, 2, func(s *testSite, user, session string, i int) response {
			r := s.open("POST", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, append(statelessHeaders("subscriptions/listen", ""), user)...)
			if r.StatusCode == 200 {
				return response{r, ""}
			}
			text, _ := io.ReadAll(r.Body)
			return response{r, string(text)}
		}, "this client has reached its limit of 2 open streams"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newTestSite(t, server, test.options)
			annSession, bobSession := s.begin(mcp.LatestHandshake, ann), s.begin(mcp.LatestHandshake, bob)
			refused := false
			for i := 0; i <= test.most && !refused; i++ {
				a := test.use(s, ann, annSession, i)
				if refused = a.StatusCode == http.StatusTooManyRequests; refused {
					if !strings.Contains(a.body, test.says) || a.Header.Get("Retry-After") == "" {
						t.Errorf("the refusal is %v %q; want a message containing %q and the header Retry-After", a.Header, a.body, test.says)
					}
				} else if a.StatusCode != 200 || strings.Contains(a.body, `"error"`) {
					t.Fatalf(`number %d gives %s %q; want the status 200 and no "\"error\"" in the body`, i, a.Status, a.body)
				}
			}
			if !refused {
				t.Errorf("more than %d requests succeed, want the next one refused", test.most)
			}
			if a := test.use(s, bob, bobSession, 0); a.StatusCode != 200 || strings.Contains(a.body, `"error"`) {
				t.Errorf(`another client gets %s %q; want the status 200 and no "\"error\"" in the body`, a.Status, a.body)
			}
			if a := s.do("DELETE", "", "Mcp-Session-Id: "+annSession, ann); a.StatusCode != 204 {
				t.Errorf("ending a session gets %s, want 204", a.Status)
			}
		})
	}
}

// Calls that are never answered count toward the quota of their client.
func TestCallsEach(t *testing.T) {
	server := newServer(mcp.Options{})
	if err := server.AddTool(mcp.Tool{Name: "asks"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		return nil, mcp.Ask(ctx, nameForm())
	}); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{MaxCalls: 8})
	session := s.begin(mcp.LatestHandshake, "X-Test-User: ann")
	for i := range 2 {
		s.open("POST", callOf(fmt.Sprint(i), "asks", ""), "Mcp-Session-Id: "+session, "X-Test-User: ann")
	}
	if a := s.post(session, callOf("9", "asks", ""), "X-Test-User: ann"); a.StatusCode != http.StatusTooManyRequests || !strings.Contains(a.body, "2 calls in flight") {
		t.Errorf(`a third call gives %s %q; want the status %d, and "2 calls in flight" in the body`, a.Status, a.body, http.StatusTooManyRequests)
	}
	for i := range 2 {
		if a := s.post(session, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i), "X-Test-User: ann"); a.StatusCode != 202 {
			t.Errorf("cancelling call %d: got %s %q, want 202", i, a.Status, a.body)
		}
	}
	s.begin(mcp.LatestHandshake, "X-Test-User: bob")
}

// Incomplete bodies count too.
func TestUnfinishedBodies(t *testing.T) {
	s := newTestSite(t, newFixture(t, mcp.Options{}), mcphttp.Options{MaxMemory: 400 << 10, MaxBody: 100 << 10})
	addr := strings.TrimPrefix(s.URL, "http://")
	send := func(user string) net.Conn {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		body := strings.Repeat(" ", 80<<10)
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nX-Test-User: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", addr, user, len(body)+1, body)
		return conn
	}
	refused := make(chan string, 2)
	for _, conn := range []net.Conn{send("ann"), send("ann")} {
		go func() {
			buf := make([]byte, 1000)
			n, _ := conn.Read(buf)
			refused <- string(buf[:n])
		}()
	}
	select {
	case text := <-refused:
		if !strings.HasPrefix(text, "HTTP/1.1 429 ") || !strings.Contains(text, "Retry-After") || !strings.Contains(text, "102400 bytes held") {
			t.Errorf(`one of two bodies is refused with %q; want "HTTP/1.1 429 " at its start, and "Retry-After" and "102400 bytes held" in it`, text)
		}
	case <-time.After(10 * time.Second):
		t.Error("none of two bodies is refused")
	}
	if a := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"`+strings.Repeat("x", 60<<10)+`",`+meta+`}}`, append(statelessHeaders("tools/list", ""), "X-Test-User: bob")...); a.StatusCode != 200 {
		t.Errorf("another client gets %s %q, want 200", a.Status, a.body)
	}
}

// The URI of a subscription has its own size limit.
func TestLongSubscription(t *testing.T) {
	server := newServer(mcp.Options{})
	if err := server.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{+name}", Name: "note"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{})
	session := s.begin(mcp.LatestHandshake)
	a := s.post(session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://`+strings.Repeat("x", 9000)+`"}}`)
	if !strings.Contains(a.body, "9007 bytes (limit 8192 for a subscription)") {
		t.Errorf(`got %s %q, want "9007 bytes (limit 8192 for a subscription)" in it`, a.Status, a.body)
	}
}

// A handler in an http.Server checks Host and Origin by default, as Serve does.
func TestBareHandler(t *testing.T) {
	h := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{Hosts: []string{"pc.local"}, Origins: []string{"https://app.example.com"}})
	zero := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{})
	for _, test := range []struct {
		handler      *mcphttp.Handler
		host, origin string
		want         int
	}{
		{zero, "127.0.0.1", "", 200},
		{zero, "localhost:80", "http://localhost:5173", 200},
		{zero, "evil.example", "", 403},
		{zero, "", "", 403},
		{zero, "127.0.0.1", "https://evil.example", 403},
		{zero, "pc.local", "", 403},
		{h, "pc.local", "", 200},
		{h, "pc.local", "https://app.example.com", 200},
		{h, "evil.example", "", 403},
	} {
		server := httptestServer(t, test.handler)
		conn, err := net.Dial("tcp", server)
		if err != nil {
			t.Fatal(err)
		}
		body := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", test.host, len(body))
		for _, line := range statelessHeaders("server/discover", "") {
			fmt.Fprintf(conn, "%s\r\n", line)
		}
		if test.origin != "" {
			fmt.Fprintf(conn, "Origin: %s\r\n", test.origin)
		}
		fmt.Fprintf(conn, "Connection: close\r\n\r\n%s", body)
		text, _ := io.ReadAll(conn)
		conn.Close()
		if want := fmt.Sprintf("HTTP/1.1 %d ", test.want); !strings.HasPrefix(string(text), want) {
			t.Errorf("Host %q, Origin %q: got %q, want the prefix %q", test.host, test.origin, string(text), want)
		}
		if allowed := strings.Contains(string(text), "Access-Control-Allow-Origin"); allowed != (test.want == 200 && test.origin != "") {
			t.Errorf("Host %q, Origin %q: Access-Control-Allow-Origin is sent: %t, want %t", test.host, test.origin, allowed, test.want == 200 && test.origin != "")
		}
	}
}

func httptestServer(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: h}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return l.Addr().String()
}

// The memory of a session is released, even if the address of its client has changed.
func TestSessionMoves(t *testing.T) {
	server := newFixture(t, mcp.Options{})
	s := newTestSite(t, server, mcphttp.Options{MaxMemory: 40 << 10, MaxBody: 10 << 10, Client: func(r *http.Request) string { return r.Header.Get("X-Test-Addr") }})
	for i := range 30 {
		session := s.begin(mcp.LatestHandshake, "X-Test-Addr: home")
		subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://readme"}}`
		if a := s.post(session, subscribe, "X-Test-Addr: train"); a.StatusCode != 200 || strings.Contains(a.body, `"error"`) {
			t.Fatalf(`round %d: subscribing gives %s %q; want the status 200 and no "\"error\"" in the body`, i, a.Status, a.body)
		}
		if i%2 == 0 {
			s.post(session, strings.Replace(subscribe, "subscribe", "unsubscribe", 1), "X-Test-Addr: office")
		}
		s.do("DELETE", "", "Mcp-Session-Id: "+session, "X-Test-Addr: train")
		for s.post(session, subscribe).StatusCode != 404 { // it is ending
			time.Sleep(time.Millisecond)
		}
	}
}

// A body without a Content-Length has the same size limit.
func TestChunkedBody(t *testing.T) {
	s := newTestSite(t, newFixture(t, mcp.Options{MaxMessage: 16 << 20}), mcphttp.Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"x":"` + strings.Repeat("x", 9<<20) + `",` + meta + `}}`
	r, err := http.NewRequest("POST", s.URL, io.MultiReader(strings.NewReader(body))) // whose length is not known
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for _, line := range statelessHeaders("tools/list", "") {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		text, _ := io.ReadAll(response.Body)
		t.Errorf("got %s %s", response.Status, text)
	}
}

// Memory for a body takes precedence over events that are kept for clients that reconnect.
func TestKeptEventsMakeRoom(t *testing.T) {
	text := strings.Repeat("x", 3<<19)
	server := newToolServer(t, mcp.Options{}, "streams", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 2, "half")
		return mcp.TextResult(text), nil
	})
	s := newTestSite(t, server, mcphttp.Options{MaxMemory: 8 << 20, MaxBody: 4 << 20, ReplayBuffer: 2 << 20, ClientShare: 100})
	for range 4 {
		if a := s.post(s.begin(mcp.LatestHandshake), callOf("1", "streams", withProgress)); !strings.Contains(a.body, text) {
			t.Fatalf("got %s and %d bytes, want a stream of more than %d bytes", a.Status, len(a.body), len(text))
		}
	}
	body := strings.Repeat(" ", 3<<20) + callOf("1", "streams", "")
	if a := s.post(s.begin(mcp.LatestHandshake), body); a.StatusCode != 200 || !strings.Contains(a.body, text) {
		t.Errorf("a body of %d bytes gets %s %.200q, want 200 and the result", len(body), a.Status, a.body)
	}
}

// Middleware may replace a body by one that is longer than its Content-Length.
func TestLongerBody(t *testing.T) {
	handler := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{MaxBody: 64 << 10})
	for _, test := range []struct{ padding, status int }{{0, 200}, {10_000, 200}, {64 << 10, 413}} {
		body := strings.Repeat(" ", test.padding) + `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
		for _, length := range []int64{0, 1, 5_000} {
			r := newRequest(t.Context(), "POST", body, statelessHeaders("tools/list", "")...)
			r.ContentLength = length
			if w := serve(handler, r); w.Code != test.status {
				t.Errorf("a body of %d bytes with the length %d: got %d %s, want %d", len(body), length, w.Code, w.Body, test.status)
			}
		}
	}
}

// A client that does not read its large responses gets errors once its share of memory is used up,
// whether they are streams or not. Their status does not say that the call was refused, because it
// was executed.
func TestUnreadAnswers(t *testing.T) {
	server := newToolServer(t, mcp.Options{}, "big", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 2, "half")
		return mcp.TextResult(strings.Repeat("x", 8<<20)), nil
	})
	for _, params := range []string{"", withProgress} {
		s := newTestSite(t, server, mcphttp.Options{MaxMemory: 20 << 20})
		session := s.begin(mcp.LatestHandshake, "X-Test-User: ann")
		first := s.open("POST", callOf("1", "big", params), "Mcp-Session-Id: "+session, "X-Test-User: ann")
		if _, err := io.ReadFull(first.Body, make([]byte, 1000)); err != nil { // the rest is not read
			t.Fatal(err)
		}
		if a := s.post(session, callOf("2", "big", params), "X-Test-User: ann"); a.StatusCode != 200 || a.Header.Get("Retry-After") != "" || !strings.Contains(a.body, `"id":2,"error":`) || !strings.Contains(a.body, "was executed, but its response of 8388") || strings.Contains(a.body, "retry later") {
			t.Errorf(`%q: the second answer is %s %v %.300q; want 200, and an error for the id 2 that says "was executed, but its response of 8388"`, params, a.Status, a.Header, a.body)
		}
		other := s.begin(mcp.LatestHandshake, "X-Test-User: bob")
		if a := s.post(other, callOf("1", "big", params), "X-Test-User: bob"); a.StatusCode != 200 || len(a.body) < 8<<20 {
			t.Errorf("%q: another client gets %s and %d bytes; want 200 and at least %d bytes", params, a.Status, len(a.body), 8<<20)
		}
	}
}
