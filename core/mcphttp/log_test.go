package mcphttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

var requestID = regexp.MustCompile(`request=[a-z2-7]{10}-[0-9a-z]+`)

// Each call is logged once, with its caller, method and result.
func TestCallLog(t *testing.T) {
	for _, test := range []struct {
		name, body string
		headers    []string
		arguments  bool
		want       string // without time, level and duration
	}{
		{"a call", callOf("1", "greets", ""), nil, false, `msg=call method=tools/call tool=greets caller=127.0.0.1 session=SESSION outcome=ok request=REQUEST id=1`},
		{"with arguments", callOf("1", "greets", ""), nil, true, `msg=call method=tools/call tool=greets caller=127.0.0.1 session=SESSION outcome=ok request=REQUEST id=1 params="{\"name\":\"greets\"}"`},
		{"a tool that fails", callOf("2", "fails", ""), nil, false, `msg=call method=tools/call tool=fails caller=127.0.0.1 session=SESSION outcome=failed request=REQUEST id=2 error="no such note"`},
		{"a tool that panics", callOf("3", "panics", ""), nil, false, `msg=call method=tools/call tool=panics caller=127.0.0.1 session=SESSION outcome=panic request=REQUEST id=3`},
		{"an unknown tool", callOf("4", "flies", ""), nil, false, `msg=call method=tools/call tool=flies caller=127.0.0.1 session=SESSION outcome=error request=REQUEST id=4 error="unknown tool \"flies\"; see tools/list"`},
		{"params that are no object", `{"jsonrpc":"2.0","id":6,"method":"tools/list","params":[]}`, nil, false, `msg=call method=tools/list caller=127.0.0.1 session=SESSION outcome=error request=REQUEST id=6 error="params must be an object, got an array"`},
		{"a caller with a name", `{"jsonrpc":"2.0","id":"x","method":"resources/read","params":{"uri":"note://readme",` + meta + `}}`, append(statelessHeaders("resources/read", "note://readme"), "X-Test-User: ann"), false,
			`msg=call method=resources/read resource=note://readme caller=ann outcome=ok request=REQUEST id="\"x\""`},
		{"a session that does not exist", callOf("5", "greets", ""), []string{"Mcp-Session-Id: gone"}, false, `msg=refused method=POST path=/mcp status=404 error="session not found`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var logged bytes.Buffer
			log := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == "time" || a.Key == "took_ms" {
					return slog.Attr{}
				}
				return a
			}}))
			server := newFixture(t, mcp.Options{Logger: log, CallLog: log, LogArguments: test.arguments})
			for name, handler := range map[string]mcp.ToolHandler{
				"fails": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
					return nil, errors.New("no such note")
				},
				"panics": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { panic("oh") },
			} {
				if err := server.AddTool(mcp.Tool{Name: name}, handler); err != nil {
					t.Fatal(err)
				}
			}
			s := newTestSite(t, server, mcphttp.Options{})
			session := s.begin(mcp.LatestHandshake)
			logged.Reset()
			headers := test.headers
			if headers == nil {
				headers = []string{"Mcp-Session-Id: " + session}
			}
			s.do("POST", test.body, headers...)
			var lines []string
			for line := range strings.Lines(requestID.ReplaceAllString(strings.ReplaceAll(logged.String(), session[:8], "SESSION"), "request=REQUEST")) {
				if strings.HasPrefix(line, "level=INFO ") {
					lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "level=INFO ")))
				}
			}
			if len(lines) != 1 || !strings.HasPrefix(lines[0], test.want) || strings.Contains(lines[0], " params=") != test.arguments || strings.Contains(logged.String(), session) {
				t.Errorf("the log is\n%s\nwant one line with level INFO that starts with\n%s\nwith params: %t, and without the session %s", logged.String(), test.want, test.arguments, session)
			}
		})
	}
}

// A call has an id of its own even if clients repeat theirs, the session as in the log, and the
// trace that the client names in _meta or in a header.
func TestOrigin(t *testing.T) {
	const inHeader, inMeta = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-00"
	server := newServer(mcp.Options{})
	seen := map[string]bool{}
	var session, trace string
	if err := server.AddTool(mcp.Tool{Name: "look"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		c := mcp.CallFrom(ctx)
		seen[c.RequestID()], session, trace = true, c.SessionID(), c.Traceparent()
		return mcp.TextResult("ok"), nil
	}); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{})
	id := s.begin(mcp.LatestHandshake)
	tests := []struct{ header, meta, want string }{
		{"", "", ""},
		{inHeader, "", inHeader},
		{inHeader, inMeta, inMeta},
		{"", inMeta, inMeta},
		{strings.ToUpper(inHeader), "", ""},
		{inHeader + "x", "", ""},
		{"ff" + inHeader[2:], "", ""},
		{"00-00000000000000000000000000000000-b7ad6b7169203331-01", "", ""},
		{"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "", ""},
		{strings.Repeat("-", 55), "", ""},
	}
	for _, test := range tests {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"look","_meta":{"traceparent":"` + test.meta + `"}}}`
		s.post(id, body, "Traceparent: "+test.header)
		if trace != test.want || session != id[:8] {
			t.Errorf("%+v: got the trace %q and the session %q; want %q and %q", test, trace, session, test.want, id[:8])
		}
	}
	if len(seen) != len(tests) {
		t.Errorf("the tool saw %d different request ids, want %d", len(seen), len(tests))
	}
}
