package mcphttp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// Any request gets a valid status, and a body that is JSON. The session of the test survives,
// unless the request deletes it.
func FuzzHTTP(f *testing.F) {
	f.Add("POST", "Content-Type: application/json\nMcp-Session-Id: S", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	f.Add("POST", "Content-Type: application/json\nMcp-Session-Id: S\nMCP-Protocol-Version: 2025-03-26", `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}}}]`)
	f.Add("POST", "Content-Type: application/json\n"+strings.Join(statelessHeaders("tools/call", "add"), "\n"), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},`+meta+`}}`)
	f.Add("POST", "Content-Type: application/json\n"+strings.Join(statelessHeaders("subscriptions/listen", ""), "\n"), `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},`+meta+`}}`)
	f.Add("POST", "Content-Type: application/json\n"+strings.Join(statelessHeaders("tools/call", "routed"), "\n")+"\nMcp-Param-Region: =?base64?SGVsbG8=?=", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"routed","arguments":{"region":"Hello"},`+meta+`}}`)
	f.Add("POST", "Content-Type: application/json", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}`)
	f.Add("POST", "Content-Type: application/json\nMcp-Session-Id: S", `{"jsonrpc":"2.0","id":1,"result":{}}`)
	f.Add("GET", "Mcp-Session-Id: S\nLast-Event-ID: 0-0", "")
	f.Add("DELETE", "Mcp-Session-Id: s", "")
	f.Fuzz(func(t *testing.T, method, headers, body string) {
		h, session := fuzzedHandler(t)
		ask := func(method, headers, body string) *httptest.ResponseRecorder {
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the client is gone before a stream could begin
			r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body)).WithContext(ctx)
			r.Method = method
			for line := range strings.SplitSeq(headers, "\n") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					if value == "S" {
						value = session
					}
					r.Header.Add(name, value)
				}
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		w := ask(method, headers, body)
		if !slices.Contains([]int{200, 202, 204, 400, 404, 405, 406, 413, 415}, w.Code) {
			t.Errorf("%s: got the status %d %s, want 200, 202, 204, 400, 404, 405, 406, 413 or 415", method, w.Code, w.Body)
		}
		if w.Header().Get("Content-Type") == "application/json" && !json.Valid(w.Body.Bytes()) {
			t.Errorf("the answer is not JSON: %q", w.Body)
		}
		if w := ask("POST", "Content-Type: application/json\nMcp-Session-Id: S", `{"jsonrpc":"2.0","id":"p","method":"ping"}`); method != "DELETE" && w.Code != 200 {
			t.Errorf("after %s, a ping of the session gives %d %s, want 200", method, w.Code, w.Body)
		}
	})
}

// fuzzedHandler returns a handler with fast tools, and the id of a session.
func fuzzedHandler(t *testing.T) (*mcphttp.Handler, string) {
	t.Helper()
	s := newServer(mcp.Options{Logger: quietLogger()})
	if err := mcp.AddTool(s, addTool(), fixture.Add); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTool(mcp.Tool{Name: "routed", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)}, fixture.Nothing); err != nil {
		t.Fatal(err)
	}
	h := mcphttp.NewHandler(s, mcphttp.Options{MaxBody: 1 << 16})
	post := func(session, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/mcp", strings.NewReader(body))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {session}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	session := post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`).Header().Get("Mcp-Session-Id")
	if w := post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); w.Code != 202 {
		t.Fatalf("initialized gives %d %s, want 202", w.Code, w.Body)
	}
	return h, session
}
