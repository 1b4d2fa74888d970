package mcphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// newStreamingServer returns a server with tools that send notifications before they answer.
func newStreamingServer(t *testing.T) (s *mcp.Server, step chan struct{}) {
	t.Helper()
	s = newFixture(t, mcp.Options{Logger: quietLogger()})
	step = make(chan struct{})
	add := func(name string, h mcp.ToolHandler) {
		if err := s.AddTool(mcp.Tool{Name: name}, h); err != nil {
			t.Fatal(err)
		}
	}
	add("steps", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		for i := range 3 {
			mcp.Progress(ctx, float64(i+1), 3, "")
			select {
			case <-step:
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
		return mcp.TextResult("walked"), nil
	})
	add("suspends", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Suspend(ctx, 50*time.Millisecond)
		<-step
		return mcp.TextResult("worth the wait"), nil
	})
	add("floods", func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		for i := range 10_000 {
			mcp.Progress(ctx, float64(i+1), 0, strings.Repeat("x", 1000))
		}
		return mcp.TextResult("high water"), ctx.Err()
	})
	add("asks", fixture.Handler(func(ctx context.Context) (string, error) {
		q := nameForm()
		if err := mcp.Ask(ctx, q); err != nil {
			return "", err
		}
		return "answered", nil
	}))
	return s, step
}

const stepsCall = `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"steps",`

func TestHTTPStream(t *testing.T) {
	server, step := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	session := s.begin(mcp.LatestHandshake)
	for _, test := range []struct {
		name, body string
		headers    []string
		ids        bool
	}{
		{"in a session", stepsCall + `"_meta":{"progressToken":1}}}`, []string{"Mcp-Session-Id: " + session}, true},
		{"alone", stepsCall + strings.Replace(meta, `{"io`, `{"progressToken":1,"io`, 1) + `}}`, statelessHeaders("tools/call", "steps"), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := s.open("POST", test.body, test.headers...)
			if got := r.Header.Get("Content-Type"); r.StatusCode != 200 || got != "text/event-stream" {
				t.Fatalf("the answer is %s %s; want the status 200 and text/event-stream", r.Status, got)
			}
			events := bufio.NewReader(r.Body)
			if test.ids {
				if mark := next(t, events); !strings.HasPrefix(mark, "id: ") || !strings.HasSuffix(mark, "-0\ndata: \n") {
					t.Errorf(`the stream begins with %q; want mark starting with "id: " and mark ending with "-0\ndata: \n"`, mark)
				}
			}
			for i := range 3 {
				if e := next(t, events); !strings.Contains(e, fmt.Sprintf(`"progress":%d`, i+1)) || strings.HasPrefix(e, "id: ") != test.ids {
					t.Errorf(`event %d is %q; want "progress":%d, and an id: %t`, i, e, i+1, test.ids)
				}
				step <- struct{}{}
			}
			if e := next(t, events); !strings.Contains(e, `"id":"c","result":`) || !strings.Contains(e, "walked") {
				t.Errorf(`the answer is %q; want an error containing "\"id\":\"c\",\"result\":" and "walked"`, e)
			}
			if rest, err := io.ReadAll(events); err != nil || len(rest) > 0 {
				t.Errorf("after the answer comes %q, %v; want the end", rest, err)
			}
		})
	}
}

// A client can resume a broken stream after the last event, repeatedly.
func TestHTTPResume(t *testing.T) {
	server, step := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	session, other := s.begin(mcp.LatestHandshake), s.begin(mcp.LatestHandshake)
	r := s.open("POST", stepsCall+`"_meta":{"progressToken":1}}}`, "Mcp-Session-Id: "+session)
	events := bufio.NewReader(r.Body)
	next(t, events)
	last := idOf(next(t, events))
	r.Body.Close()
	step <- struct{}{}
	step <- struct{}{}
	if a := s.do("GET", "", "Mcp-Session-Id: "+other, "Last-Event-ID: "+last); a.StatusCode != 400 {
		t.Errorf("another session resumes the stream with %s %q, want 400", a.Status, a.body)
	}
	r = s.open("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last)
	events = bufio.NewReader(r.Body)
	for i := range 2 {
		if e := next(t, events); !strings.Contains(e, fmt.Sprintf(`"progress":%d`, i+2)) {
			t.Errorf("the next event is %q, want it to contain %q", e, fmt.Sprintf(`"progress":%d`, i+2))
		}
	}
	step <- struct{}{}
	if e := next(t, events); !strings.Contains(e, "walked") {
		t.Errorf(`the last event is %q, want it to contain "walked"`, e)
	}
	for range 2 { // what has been seen may be seen again
		if a := s.do("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last); strings.Count(a.body, "data: ") != 3 || !strings.Contains(a.body, "walked") {
			t.Errorf(`the resumed stream is %q, want 3 events, the last with "walked"`, a.body)
		}
	}
}

func idOf(event string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(event, "id: "), "\n")
	return id
}

func TestHTTPSuspend(t *testing.T) {
	server, step := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	session := s.begin(mcp.LatestHandshake)
	a := s.post(session, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"suspends"}}`)
	if !strings.Contains(a.body, "retry: 50\ndata: \n\n") || strings.Contains(a.body, "worth") {
		t.Fatalf(`the call gives %q; want "retry: 50\ndata: \n\n" in it, and no "worth"`, a.body)
	}
	if !a.Close {
		t.Error("the answer to a suspended call keeps the connection open, want it closed")
	}
	r := s.open("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+idOf(a.body))
	step <- struct{}{}
	if e := next(t, bufio.NewReader(r.Body)); !strings.Contains(e, "worth the wait") {
		t.Errorf(`the answer: got %q, want it to contain "worth the wait"`, e)
	}
	// A stateless client cannot resume, so it waits.
	go func() { step <- struct{}{} }()
	if a := s.post(s.begin(mcp.Revision20250618), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"suspends"}}`); !strings.Contains(a.body, "worth the wait") {
		t.Errorf(`in 2025-06-18 the call: got %q, want it to contain "worth the wait"`, a.body)
	}
}

// A request to the client goes over the stream of its call, and the client answers with a POST.
func TestHTTPAsk(t *testing.T) {
	server, _ := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	session, other := s.begin(mcp.LatestHandshake), s.begin(mcp.LatestHandshake)
	r := s.open("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"asks"}}`, "Mcp-Session-Id: "+session)
	events := bufio.NewReader(r.Body)
	next(t, events)
	question := next(t, events)
	if !strings.Contains(question, `"method":"elicitation/create"`) {
		t.Fatalf(`the question: got %q, want it to contain "\"method\":\"elicitation/create\""`, question)
	}
	const reply = `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"name":"Ann"}}}`
	if a := s.post(other, reply); a.StatusCode != 202 {
		t.Errorf("an answer to no question gets %s, want 202", a.Status)
	}
	if a := s.post(session, reply); a.StatusCode != 202 || a.body != "" {
		t.Errorf(`the answer gives %s %q; want StatusCode 202 and body ""`, a.Status, a.body)
	}
	if e := next(t, events); !strings.Contains(e, "answered") {
		t.Errorf(`the result: got %q, want it to contain "answered"`, e)
	}
}

// Messages that belong to no call wait for the stream that the client opens with GET.
func TestHTTPOwnStream(t *testing.T) {
	server, _ := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	session := s.begin(mcp.LatestHandshake)
	if a := s.post(session, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"note://readme"}}`); a.StatusCode != 200 {
		t.Fatalf("the subscription gives %d, want 200: %s", a.StatusCode, a.body)
	}
	r := s.open("GET", "", "Mcp-Session-Id: "+session)
	events := bufio.NewReader(r.Body)
	last := idOf(next(t, events))
	server.ResourceUpdated("note://readme")
	if e := next(t, events); !strings.Contains(e, `"method":"notifications/resources/updated","params":{"uri":"note://readme"}`) {
		t.Errorf(`the client is told: got %q, want it to contain "\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"note://readme\"}"`, e)
	}
	// A second stream replaces the first.
	second := s.open("GET", "", "Mcp-Session-Id: "+session)
	if rest, err := io.ReadAll(events); err != nil || len(rest) > 0 {
		t.Errorf("after the event the first stream has %q, %v; want its end", rest, err)
	}
	server.RemoveTool("greets")
	if e := next(t, bufio.NewReader(second.Body)); !strings.Contains(e, "tools/list_changed") {
		t.Errorf(`the second is told: got %q, want it to contain "tools/list_changed"`, e)
	}
	again := s.open("GET", "", "Mcp-Session-Id: "+session, "Last-Event-ID: "+last)
	if e := next(t, bufio.NewReader(again.Body)); !strings.Contains(e, "resources/updated") {
		t.Errorf(`after the first event comes %q, want it to contain "resources/updated"`, e)
	}
	if a := s.do("DELETE", "", "Mcp-Session-Id: "+session); a.StatusCode != 204 {
		t.Error(a.Status)
	}
	if _, err := io.ReadAll(again.Body); err != nil {
		t.Errorf("the end of the session breaks the stream: %v", err)
	}
}

func TestHTTPListen(t *testing.T) {
	server, _ := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	r := s.open("POST", `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, statelessHeaders("subscriptions/listen", "")...)
	events := bufio.NewReader(r.Body)
	if e := next(t, events); r.Header.Get("X-Accel-Buffering") != "no" || !strings.Contains(e, "subscriptions/acknowledged") || strings.Contains(e, "id: ") {
		t.Errorf(`it begins with %q and X-Accel-Buffering %q; want subscriptions/acknowledged without an id, and "no"`, e, r.Header.Get("X-Accel-Buffering"))
	}
	server.RemovePrompt("plain")
	server.RemoveTool("greets")
	if e := next(t, events); !strings.Contains(e, `tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`) {
		t.Errorf(`the client is told %q, want it to contain "tools/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"l\"}}"`, e)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.handler.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	if e := next(t, events); !strings.Contains(e, `"id":"l","result":`) {
		t.Errorf(`the last event is %q, want it to contain "\"id\":\"l\",\"result\":"`, e)
	}
	if rest, err := io.ReadAll(events); err != nil || len(rest) > 0 {
		t.Errorf("after the result comes %q, %v; want the end", rest, err)
	}
	if a := s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+meta+`}}`, statelessHeaders("tools/list", "")...); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("after the end a request gives %s %v %q, want 503 and the header Retry-After", a.Status, a.Header, a.body)
	}
}

// A client that does not read does not block the tool, and the number of waiting events stays
// small.
func TestHTTPSlowReader(t *testing.T) {
	server, _ := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{ReplayBuffer: 100_000})
	session := s.begin(mcp.LatestHandshake)
	r := s.open("POST", `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"floods","_meta":{"progressToken":1}}}`, "Mcp-Session-Id: "+session)
	time.Sleep(20 * time.Millisecond) // whatever it is in the midst of
	all, err := io.ReadAll(r.Body)
	if err != nil || !strings.Contains(string(all), "high water") {
		t.Errorf(`the stream ends with %.200q, %v; want the answer "high water" and no error`, all, err)
	}
	alone := s.open("POST", `{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"name":"floods",`+strings.Replace(meta, `{"io`, `{"progressToken":1,"io`, 1)+`}}`, statelessHeaders("tools/call", "floods")...)
	all, err = io.ReadAll(alone.Body)
	if err != nil || !strings.Contains(string(all), "high water") {
		t.Errorf(`the independent stream ends with %.200q, %v; want the answer "high water" and no error`, all, err)
	}
}

func TestHTTPLimits(t *testing.T) {
	server, step := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{MaxSessions: 3, MaxCalls: 1, ClientShare: 67})
	first := s.begin(mcp.LatestHandshake)
	s.begin(mcp.LatestHandshake)
	initialize := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	if a := s.do("POST", initialize); a.StatusCode != 429 || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, `"id":0,"error"`) {
		t.Errorf(`a third session of one client gives %s %v %q; want 429, the header Retry-After and an error for the id 0`, a.Status, a.Header, a.body)
	}
	s.begin(mcp.LatestHandshake, "X-Test-User: ann")
	if a := s.do("POST", initialize, "X-Test-User: bob"); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("a fourth session gives %s %v %q; want 503 and the header Retry-After", a.Status, a.Header, a.body)
	}
	r := s.open("POST", stepsCall+`"_meta":{"progressToken":1}}}`, "Mcp-Session-Id: "+first)
	if a := s.post(first, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("a second call gives %s %v %q; want 503 and the header Retry-After", a.Status, a.Header, a.body)
	}
	if a := s.post(first, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"c"}}`); a.StatusCode != 202 {
		t.Errorf("cancelling the first call gives %s %s, want 202", a.Status, a.body)
	}
	if all, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(all), "result") {
		t.Errorf(`the cancelled call gives %q, %v; want no result and no error`, all, err)
	}
	close(step)
	s.do("DELETE", "", "Mcp-Session-Id: "+first)
	for a := s.do("POST", initialize); a.StatusCode != 200; a = s.do("POST", initialize) {
		if a.StatusCode != 429 && a.StatusCode != 503 {
			t.Fatal(a.Status, a.body)
		}
	}
}

// A stateless client that disconnects cancels its call. A client with a session does not.
func TestHTTPGone(t *testing.T) {
	server := newFixture(t, mcp.Options{Logger: quietLogger()})
	began, ended := make(chan struct{}), make(chan error, 1)
	go1 := func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		close(began)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil, nil
	}
	if err := server.AddTool(mcp.Tool{Name: "lasts"}, go1); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, "POST", s.URL, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"lasts",`+meta+`}}`))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"lasts"}, "Mcp-Protocol-Version": {"2026-07-28"}}
	go func() {
		<-began
		cancel()
	}()
	if _, err := s.Client().Do(req); err == nil {
		t.Error("the cancelled request was answered")
	}
	<-ended
}

// Idle sessions end, but not those with an open stream.
func TestHTTPIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{SessionIdle: time.Minute})
		idle, used := beginSession(t, h, mcp.LatestHandshake), beginSession(t, h, mcp.LatestHandshake)
		ctx, disconnect := context.WithCancel(t.Context())
		var stream sync.WaitGroup
		stream.Go(func() { serve(h, newRequest(ctx, "GET", "", used)) })
		time.Sleep(time.Hour)
		for id, want := range map[string]int{idle: http.StatusNotFound, used: http.StatusOK} {
			if got := serve(h, newRequest(t.Context(), "POST", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, id)).Code; got != want {
				t.Errorf("ping with open stream %v = %d, want %d", id == used, got, want)
			}
		}
		disconnect()
		stream.Wait()
		shutDown(t, h)
	})
}

// Messages to one client never reach another, even after a client has disconnected.
func TestHTTPApart(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "apart", Version: "1"}, mcp.Options{})
	err := mcp.AddTool(server, mcp.Tool{Name: "say"}, func(_ context.Context, in struct {
		Text string `json:"text"`
	}) (string, error) {
		return in.Text, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{})
	for range 20 {
		r := s.open("POST", `{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+meta+`}}`, statelessHeaders("subscriptions/listen", "")...)
		next(t, bufio.NewReader(r.Body))
		r.Body.Close()
	}
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 100+10*i)
			for range 50 {
				body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"say","arguments":{"text":"` + text + `"},` + meta + `}}`
				if a := s.do("POST", body, statelessHeaders("tools/call", "say")...); !strings.Contains(a.body, `"`+text+`"`) {
					t.Errorf("client %d is told: got %q, want it to contain %q", i, a.body, `"`+text+`"`)
					return
				}
			}
		})
	}
	all.Wait()
}

// A deleted session does not exist.
func TestHTTPEnded(t *testing.T) {
	server, _ := newStreamingServer(t)
	s := newTestSite(t, server, mcphttp.Options{})
	for range 20 {
		id := s.begin(mcp.Revision20251125)
		for _, want := range []int{204, 404} { // without a network between them, which gives time
			r := httptest.NewRequest("DELETE", "/mcp", nil)
			r.Header.Set("Mcp-Session-Id", id)
			w := httptest.NewRecorder()
			if s.handler.ServeHTTP(w, r); w.Code != want {
				t.Fatalf("its end gives %d %q, want %d", w.Code, w.Body, want)
			}
		}
	}
}

// At the end of the grace period, the streams of cancelled calls, of sessions and of subscriptions
// end with their last chunk.
func TestStreamsEnd(t *testing.T) {
	s := newTestSite(t, newServer(mcp.Options{}), mcphttp.Options{}) // for its client
	for range 20 {
		ctx, stop := context.WithCancel(t.Context())
		h := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{KeepAlive: 5 * time.Millisecond})
		ready, ended := make(chan net.Addr), make(chan error)
		o := mcphttp.ServeOptions{Addr: "127.0.0.1:0", Grace: 20 * time.Millisecond, Ready: func(addr net.Addr) { ready <- addr }}
		go func() { ended <- mcphttp.Serve(ctx, h, o) }()
		s.URL = "http://" + (<-ready).String()
		session := s.begin(mcp.LatestHandshake)
		listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
		streams := []*http.Response{
			s.open("POST", callOf("1", "waits", ""), "Mcp-Session-Id: "+session),
			s.open("GET", "", "Mcp-Session-Id: "+session, "Accept: text/event-stream"),
			s.open("POST", listen, statelessHeaders("subscriptions/listen", "")...),
		}
		stop()
		for i, stream := range streams {
			if text, err := io.ReadAll(stream.Body); err != nil {
				t.Errorf("stream %d ends with %v after %q", i, err, text)
			}
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
