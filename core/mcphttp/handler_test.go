package mcphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// A testSite is an HTTP server with a client.
type testSite struct {
	*httptest.Server
	t       *testing.T
	handler *mcphttp.Handler
}

// newTestSite serves s over HTTP until the end of the test. The header X-Test-User sets the caller,
// and X-Test-Life how long the credentials are valid.
func newTestSite(t *testing.T, s *mcp.Server, o mcphttp.Options) *testSite {
	t.Helper()
	h := mcphttp.NewHandler(s, o)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.Header.Get("X-Test-User"); user != "" {
			id := &auth.Identity{Subject: user, Scopes: r.Header.Values("X-Test-Scope")}
			if life, err := time.ParseDuration(r.Header.Get("X-Test-Life")); err == nil {
				id.Expires = time.Now().Add(life)
			}
			r = r.WithContext(auth.With(r.Context(), id))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = h.Shutdown(ctx) // a test may have done it
		web.CloseClientConnections()
		web.Close()
	})
	return &testSite{web, t, h}
}

// A response is an HTTP response with its body.
type response struct {
	*http.Response
	body string
}

// do sends a request with headers such as "Name: value".
func (s *testSite) do(method, body string, headers ...string) response {
	s.t.Helper()
	r := s.open(method, body, headers...)
	text, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response{r, string(text)}
}

// open is do for a response that is a stream.
func (s *testSite) open(method, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if value == "" {
			req.Header.Del(name)
		} else {
			req.Header.Add(name, value)
		}
	}
	r, err := s.Client().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { r.Body.Close() })
	return r
}

// post sends a message in a session.
func (s *testSite) post(session, body string, headers ...string) response {
	s.t.Helper()
	return s.do("POST", body, append(headers, "Mcp-Session-Id: "+session)...)
}

// begin starts a session and returns its id.
func (s *testSite) begin(r mcp.Revision, headers ...string) string {
	s.t.Helper()
	a := s.do("POST", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+string(r)+`","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`, headers...)
	id := a.Header.Get("Mcp-Session-Id")
	if a.StatusCode != 200 || id == "" || !strings.Contains(a.body, `"protocolVersion":"`+string(r)+`"`) {
		s.t.Fatalf("initialize gives %s %q, session %q; want a.StatusCode == 200 and id != \"\" and a.body containing `\"protocolVersion\":\"`+string(r)+`\"`", a.Status, a.body, id)
	}
	if a := s.post(id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...); a.StatusCode != 202 || a.body != "" {
		s.t.Fatalf(`initialized gives %s %q; want a.StatusCode == 202 and a.body == ""`, a.Status, a.body)
	}
	return id
}

// meta is the _meta of a request of revision 2026-07-28.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{},"elicitation":{}}}`

// statelessHeaders returns the headers of a request of revision 2026-07-28.
func statelessHeaders(method, name string) []string {
	headers := []string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: " + method}
	if name != "" {
		headers = append(headers, "Mcp-Name: "+name)
	}
	return headers
}

// next returns the lines of the next event of a stream.
func next(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	var event strings.Builder
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream ends with %v, after %q", err, event.String())
		}
		if line == "\n" {
			return event.String()
		}
		event.WriteString(line)
	}
}

func TestHTTPEras(t *testing.T) {
	s := newTestSite(t, newFixture(t, mcp.Options{Logger: quietLogger()}), mcphttp.Options{})
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2}`
	for _, r := range mcp.HandshakeRevisions() {
		id := s.begin(r)
		a := s.post(id, call+`}}`, "MCP-Protocol-Version: "+string(r))
		if a.StatusCode != 200 || a.Header.Get("Content-Type") != "application/json" || a.ContentLength != int64(len(a.body)) || !strings.HasPrefix(a.body, `{"jsonrpc":"2.0","id":7,"result":`) || !strings.Contains(a.body, `\"sum\":3`) {
			t.Errorf("%s: a call gives %s %q", r, a.Status, a.body)
		}
		if a := s.do("DELETE", "", "Mcp-Session-Id: "+id); a.StatusCode != 204 {
			t.Errorf("%s: DELETE gets %s, want 204", r, a.Status)
		}
		if a := s.post(id, call+`}}`); a.StatusCode != 404 {
			t.Errorf("%s: a call of an ended session gets %s, want 404", r, a.Status)
		}
	}
	a := s.do("POST", call+`,`+meta+`}}`, statelessHeaders("tools/call", "add")...)
	if a.StatusCode != 200 || a.Header.Get("Mcp-Session-Id") != "" || !strings.Contains(a.body, `"resultType":"complete"`) {
		t.Errorf(`a call of 2026-07-28 gives %s, session %q, %s; want 200, no session and "resultType":"complete"`, a.Status, a.Header.Get("Mcp-Session-Id"), a.body)
	}
}

func TestHTTPStatus(t *testing.T) {
	server := newFixture(t, mcp.Options{Logger: quietLogger()})
	if err := server.AddTool(mcp.Tool{Name: "scoped", Scopes: []string{"notes:read", "notes:write"}}, fixture.Nothing); err != nil {
		t.Fatal(err)
	}
	secret := func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: "secret"}}, nil
	}
	if err := errors.Join(
		server.AddResource(mcp.Resource{URI: "scoped://one", Name: "one", Scopes: []string{"notes:read", "notes:write"}}, secret),
		server.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "scoped://all/{id}", Name: "all", Scopes: []string{"notes:read", "notes:write"}}, secret),
		server.AddPrompt(mcp.Prompt{Name: "scoped", Arguments: []mcp.PromptArgument{{Name: "id"}}, Scopes: []string{"notes:read", "notes:write"}}, func(context.Context, map[string]string) (*mcp.PromptResult, error) {
			return &mcp.PromptResult{Description: "secret"}, nil
		}),
	); err != nil {
		t.Fatal(err)
	}
	if err := server.AddTool(mcp.Tool{Name: "routed", InputSchema: json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"on":{"type":"boolean","x-mcp-header":"On"}}}}}`)}, fixture.Nothing); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, server, mcphttp.Options{MaxBody: 4096, Challenge: func(scopes []string) string { return `Bearer scope="` + strings.Join(scopes, " ") + `"` }})
	session := s.begin(mcp.LatestHandshake)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + meta + `}}`
	}
	routed := func(arguments string) string {
		return request("tools/call", `"name":"routed","arguments":`+arguments+`,`)
	}
	tests := []struct {
		name, method, body string
		headers            []string
		status             int
		want               string // in the body
	}{
		{"no session", "POST", list, nil, 400, "Mcp-Session-Id is missing"},
		{"a guessed session", "POST", list, []string{"Mcp-Session-Id: guess"}, 404, "session not found"},
		{"a session twice", "POST", list, []string{"Mcp-Session-Id: " + session, "Mcp-Session-Id: x"}, 400, "once"},
		{"another user's session", "POST", list, []string{"Mcp-Session-Id: " + session, "X-Test-User: eve"}, 404, "session not found"},
		{"a session", "POST", list, []string{"Mcp-Session-Id: " + session}, 200, `"tools":[`},
		{"another revision of sessions", "POST", list, []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-03-26"}, 200, `"tools":[`},
		{"an unknown revision", "POST", list, []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 1999-01-01"}, 400, `"code":-32022,"message":"unsupported protocol version \"1999-01-01\"","data":{"supported":["2026-07-28",`},
		{"no media type", "POST", list, []string{"Content-Type: "}, 415, "application/json"},
		{"another media type", "POST", list, []string{"Content-Type: ", "Content-Type: text/plain"}, 415, "application/json"},
		{"with a charset", "POST", list, []string{"Mcp-Session-Id: " + session, "Content-Type: ", "Content-Type: Application/JSON; charset=utf-8"}, 200, `"tools":[`},
		{"accepts something else", "POST", list, []string{"Accept: ", "Accept: text/html"}, 406, "text/event-stream"},
		{"accepts JSON alone", "POST", list, []string{"Accept: ", "Accept: application/json"}, 406, "text/event-stream"},
		{"accepts everything", "POST", list, []string{"Mcp-Session-Id: " + session, "Accept: ", "Accept: text/html, */*;q=0.1"}, 200, `"tools":[`},
		{"not JSON", "POST", `{`, []string{"Mcp-Session-Id: " + session}, 400, "-32700"},
		{"not a message", "POST", `{"id":4}`, []string{"Mcp-Session-Id: " + session}, 400, `"id":4,"error":{"code":-32600`},
		{"a batch", "POST", `[` + list + `]`, []string{"Mcp-Session-Id: " + session}, 400, "-32600"},
		{"too large", "POST", `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 5000) + `"}`, nil, 413, "larger than 4096 bytes"},
		{"PUT", "PUT", list, nil, 405, "POST"},
		{"GET without a session", "GET", "", nil, 405, "POST"},
		{"DELETE without a session", "DELETE", "", nil, 405, "POST"},
		{"GET with two sessions", "GET", "", []string{"Mcp-Session-Id: " + session, "Mcp-Session-Id: " + session}, 400, "may be sent once"},
		{"DELETE with two revisions", "DELETE", "", []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: 2025-11-25"}, 400, "may be sent once"},
		{"GET of a guessed session", "GET", "", []string{"Mcp-Session-Id: guess"}, 404, "session not found"},
		{"GET of another user's", "GET", "", []string{"Mcp-Session-Id: " + session, "X-Test-User: eve"}, 404, "session not found"},
		{"GET for JSON", "GET", "", []string{"Mcp-Session-Id: " + session, "Accept: application/json"}, 406, "text/event-stream"},
		{"GET after an event that was not", "GET", "", []string{"Mcp-Session-Id: " + session, "Last-Event-ID: 9-1"}, 400, "does not have that event"},
		{"GET after nonsense", "GET", "", []string{"Mcp-Session-Id: " + session, "Last-Event-ID: x"}, 400, "does not have that event"},
		{"GET in an unknown revision", "GET", "", []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 1999-01-01"}, 400, "1999-01-01"},
		{"DELETE in a revision without sessions", "DELETE", "", []string{"Mcp-Session-Id: " + session, "MCP-Protocol-Version: 2026-07-28"}, 400, "2026-07-28"},
		{"DELETE of another user's", "DELETE", "", []string{"Mcp-Session-Id: " + session, "X-Test-User: eve"}, 404, "session not found"},
		{"an unknown tool in a session", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`, []string{"Mcp-Session-Id: " + session}, 200, "-32602"},

		{"discover", "POST", request("server/discover", ""), statelessHeaders("server/discover", ""), 200, "supportedVersions"},
		{"no version header", "POST", request("tools/list", ""), []string{"Mcp-Method: tools/list"}, 400, "-32020"},
		{"no version header, in a session", "POST", request("tools/list", ""), []string{"Mcp-Method: tools/list", "Mcp-Session-Id: " + session}, 400, "-32020"},
		{"another version header", "POST", request("tools/list", ""), []string{"MCP-Protocol-Version: 2025-11-25", "Mcp-Method: tools/list"}, 400, "-32020"},
		{"the version header twice", "POST", request("tools/list", ""), append(statelessHeaders("tools/list", ""), "MCP-Protocol-Version: 2026-07-28"), 400, "-32020"},
		{"no _meta", "POST", list, statelessHeaders("tools/list", ""), 400, `"id":1,"error":{"code":-32602`},
		{"no capabilities", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, statelessHeaders("tools/list", ""), 400, "-32602"},
		{"a version to come", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01"}}}`, []string{"MCP-Protocol-Version: 2031-01-01", "Mcp-Method: tools/list"}, 400, "-32022"},
		{"_meta that is none", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}`, statelessHeaders("tools/list", ""), 400, "-32602"},
		{"params that are a list", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, statelessHeaders("tools/list", ""), 400, "-32602"},
		{"_meta that is none, in a session", "POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":5}}`, []string{"Mcp-Session-Id: " + session}, 200, "-32602"},
		{"the method in base64", "POST", request("tools/list", ""), statelessHeaders("=?base64?dG9vbHMvbGlzdA==?=", ""), 400, "-32020"},
		{"no method header", "POST", request("tools/list", ""), []string{"MCP-Protocol-Version: 2026-07-28"}, 400, "-32020"},
		{"the method in capitals", "POST", request("tools/list", ""), statelessHeaders("TOOLS/LIST", ""), 400, "-32020"},
		{"the method twice", "POST", request("tools/list", ""), append(statelessHeaders("tools/list", ""), "Mcp-Method: tools/call"), 400, "-32020"},
		{"no name header", "POST", request("tools/call", `"name":"greets",`), statelessHeaders("tools/call", ""), 400, "-32020"},
		{"another name", "POST", request("tools/call", `"name":"greets",`), statelessHeaders("tools/call", "add"), 400, "-32020"},
		{"a name in base64", "POST", request("tools/call", `"name":"greets",`), statelessHeaders("tools/call", "=?base64?Z3JlZXRz?="), 200, "hello"},
		{"a name in bad base64", "POST", request("tools/call", `"name":"greets",`), statelessHeaders("tools/call", "=?base64?Z3JlZXR?="), 400, "-32020"},
		{"a resource", "POST", request("resources/read", `"uri":"note://readme",`), statelessHeaders("resources/read", "note://readme"), 200, "hello"},
		{"an unknown resource", "POST", request("resources/read", `"uri":"note://no",`), statelessHeaders("resources/read", "note://no"), 200, "-32602"},
		{"an unknown tool", "POST", request("tools/call", `"name":"x",`), statelessHeaders("tools/call", "x"), 200, "-32602"},
		{"an unknown method", "POST", request("no/such", ""), statelessHeaders("no/such", ""), 404, "-32601"},
		{"a method of sessions", "POST", request("ping", ""), statelessHeaders("ping", ""), 404, "-32601"},
		{"initialize that names its revision", "POST", request("initialize", `"protocolVersion":"2025-11-25",`), statelessHeaders("initialize", ""), 404, "-32601"},
		{"a notification", "POST", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, statelessHeaders("notifications/cancelled", ""), 202, ""},
		{"a response", "POST", `{"jsonrpc":"2.0","id":1,"result":{}}`, statelessHeaders("x", ""), 400, "-32600"},
		{"a batch without a session", "POST", `[` + request("tools/list", "") + `]`, statelessHeaders("tools/list", ""), 400, "-32600"},

		{"a routed call without its header", "POST", routed(`{"region":"eu"}`), statelessHeaders("tools/call", "routed"), 400, "-32020"},
		{"with it", "POST", routed(`{"region":"eu"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: eu"), 200, "complete"},
		{"with its base64", "POST", routed(`{"region":"Hello"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: =?base64?SGVsbG8=?="), 200, "complete"},
		{"with bad padding", "POST", routed(`{"region":"Hello"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: =?base64?SGVsbG8?="), 400, "-32020"},
		{"with half of the marks", "POST", routed(`{"region":"=?base64?SGVsbG8="}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: =?base64?SGVsbG8="), 200, "complete"},
		{"with another value", "POST", routed(`{"region":"eu"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: us"), 400, "-32020"},
		{"with a header for nothing", "POST", routed(`{}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: us"), 400, "-32020"},
		{"with a header for null", "POST", routed(`{"region":null}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: us"), 400, "-32020"},
		{"with unknown headers", "POST", routed(`{}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Other: us"), 200, "complete"},
		{"deep down", "POST", routed(`{"deep":{"n":1.0,"on":true}}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-N: 1", "Mcp-Param-On: true"), 200, "complete"},
		{"deep down, nearly", "POST", routed(`{"deep":{"n":9007199254740991}}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-N: 9007199254740990.6"), 400, "-32020"},
		{"an argument of another case", "POST", routed(`{"region":"eu","Region":"us"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: us"), 400, "-32020"},
		{"an argument with an escaped name", "POST", routed(`{"\u0072egion":"eu"}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-Region: us"), 400, "-32020"},
		{"deep down and wrong", "POST", routed(`{"deep":{"n":1,"on":true}}`), append(statelessHeaders("tools/call", "routed"), "Mcp-Param-N: 2", "Mcp-Param-On: true"), 400, "-32020"},

		{"scopes that are missing", "POST", request("tools/call", `"name":"scoped",`), append(statelessHeaders("tools/call", "scoped"), "X-Test-User: ann", "X-Test-Scope: notes:read"), 403, "notes:read notes:write"},
		{"scopes", "POST", request("tools/call", `"name":"scoped",`), append(statelessHeaders("tools/call", "scoped"), "X-Test-User: ann", "X-Test-Scope: notes:read", "X-Test-Scope: notes:write"), 200, "complete"},
		{"a resource without its scope", "POST", request("resources/read", `"uri":"scoped://one",`), append(statelessHeaders("resources/read", "scoped://one"), "X-Test-User: ann"), 403, "notes:read notes:write"},
		{"a template without its scope", "POST", request("resources/read", `"uri":"scoped://all/1",`), append(statelessHeaders("resources/read", "scoped://all/1"), "X-Test-User: ann"), 403, "notes:read notes:write"},
		{"what completes it, without its scope", "POST", request("completion/complete", `"ref":{"type":"ref/resource","uri":"scoped://all/{id}"},"argument":{"name":"id","value":""},`), append(statelessHeaders("completion/complete", ""), "X-Test-User: ann"), 403, "notes:read notes:write"},
		{"a resource with its scope", "POST", request("resources/read", `"uri":"scoped://one",`), append(statelessHeaders("resources/read", "scoped://one"), "X-Test-User: ann", "X-Test-Scope: notes:read", "X-Test-Scope: notes:write"), 200, "secret"},
		{"a prompt without its scope", "POST", request("prompts/get", `"name":"scoped",`), append(statelessHeaders("prompts/get", "scoped"), "X-Test-User: ann", "X-Test-Scope: notes:read"), 403, "notes:read notes:write"},
		{"what completes a prompt, without its scope", "POST", request("completion/complete", `"ref":{"type":"ref/prompt","name":"scoped"},"argument":{"name":"id","value":""},`), append(statelessHeaders("completion/complete", ""), "X-Test-User: ann"), 403, "notes:read notes:write"},
		{"a prompt with its scope", "POST", request("prompts/get", `"name":"scoped",`), append(statelessHeaders("prompts/get", "scoped"), "X-Test-User: ann", "X-Test-Scope: notes:read", "X-Test-Scope: notes:write"), 200, "secret"},
		{"a list without scopes", "POST", request("prompts/list", ""), append(statelessHeaders("prompts/list", ""), "X-Test-User: ann"), 200, `"scoped"`},
		{"scopes without authentication", "POST", request("tools/call", `"name":"scoped",`), statelessHeaders("tools/call", "scoped"), 200, "complete"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := s.do(test.method, test.body, test.headers...)
			if a.StatusCode != test.status || !strings.Contains(a.body, test.want) || test.status == 202 && a.body != "" {
				t.Errorf("got %s %s\nwant %d, %s", a.Status, a.body, test.status, test.want)
			}
			if a.StatusCode == 405 && a.Header.Get("Allow") == "" {
				t.Errorf("the status is 405 without the header Allow: %v", a.Header)
			}
			if a.StatusCode == 403 && a.Header.Get("WWW-Authenticate") != `Bearer scope="notes:read notes:write"` {
				t.Errorf("the challenge is %q", a.Header.Get("WWW-Authenticate"))
			}
			if a.body != "" && !json.Valid([]byte(a.body)) {
				t.Errorf("the body is not JSON: %s", a.body)
			}
		})
	}
}

// Scopes are those of each request, not those of the request that started the session. This also
// applies to each call of a batch.
func TestHTTPScopesInSessions(t *testing.T) {
	fixture := newFixture(t, mcp.Options{Logger: quietLogger()})
	ran := false
	scoped := func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		ran = true
		return nil, nil
	}
	if err := fixture.AddTool(mcp.Tool{Name: "scoped", Scopes: []string{"notes:read"}}, scoped); err != nil {
		t.Fatal(err)
	}
	s := newTestSite(t, fixture, mcphttp.Options{})
	session := s.begin(mcp.Revision20250326, "X-Test-User: ann", "X-Test-Scope: notes:read")
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"scoped"}}`
	for _, body := range []string{call, `[` + call + `]`, `[{"jsonrpc":"2.0","id":8,"method":"ping"},` + call + `]`} {
		if a := s.post(session, body, "X-Test-User: ann"); !strings.Contains(a.body, "notes:read") || ran {
			t.Errorf("%s gives %s %s, and the tool ran: %t; want the missing scope notes:read, and the tool not run", body, a.Status, a.body, ran)
		}
	}
	if a := s.post(session, `[`+call+`]`, "X-Test-User: ann", "X-Test-Scope: notes:read"); a.StatusCode != 200 || !ran {
		t.Errorf("with the scope got %s %s, and the tool ran: %t; want 200 and true", a.Status, a.body, ran)
	}
}

// Long-lived streams end when the credentials of the request expire.
func TestHTTPStreamsEndWithCredentials(t *testing.T) {
	s := newTestSite(t, newFixture(t, mcp.Options{Logger: quietLogger()}), mcphttp.Options{KeepAlive: time.Hour})
	session := s.begin(mcp.LatestHandshake, "X-Test-User: ann")
	credentials := []string{"X-Test-User: ann", "X-Test-Life: 20ms"}
	if a := s.do("GET", "", append(credentials, "Mcp-Session-Id: "+session)...); a.StatusCode != 200 {
		t.Errorf("the stream of a session gets %s %q, want 200", a.Status, a.body)
	}
	listen := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}`
	a := s.do("POST", listen, append(statelessHeaders("subscriptions/listen", ""), credentials...)...)
	if a.StatusCode != 200 || !strings.Contains(a.body, "acknowledged") || !strings.Contains(a.body, `"id":1,"result":{`) {
		t.Errorf(`listening gives %s %s; want the status 200, and "acknowledged" and "\"id\":1,\"result\":{" in the body`, a.Status, a.body)
	}
	if a := s.post(session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "X-Test-User: ann"); a.StatusCode != 200 {
		t.Errorf("with new credentials the session gets %s %q, want 200", a.Status, a.body)
	}
}

// Every response that is not a stream has a Content-Length.
func TestHTTPLength(t *testing.T) {
	text := ""
	s := newTestSite(t, newToolServer(t, mcp.Options{}, "says", fixture.Handler(func(context.Context) (string, error) { return text, nil })), mcphttp.Options{})
	id := s.begin(mcp.LatestHandshake)
	for _, n := range []int{0, 1, 1900, 1950, 2000, 2047, 2048, 2049, 5000, 100_000} {
		text = strings.Repeat("x", n)
		a := s.post(id, callOf("1", "says", ""))
		if a.ContentLength != int64(len(a.body)) || !strings.Contains(a.body, `"`+text+`"`) || !strings.HasSuffix(a.body, "}") {
			t.Errorf("with a text of %d bytes the answer has %d, and announces %d: %.100q; want as many as announced, with the text, up to the closing }", n, len(a.body), a.ContentLength, a.body)
		}
	}
}

// A call has the client info that the client sent, in sessions and in stateless requests.
func TestCallClient(t *testing.T) {
	s := newTestSite(t, newToolServer(t, mcp.Options{}, "who", fixture.Handler(func(ctx context.Context) (string, error) {
		c := mcp.CallFrom(ctx).Client()
		return fmt.Sprintf("[%s %s]", c.Name, c.Version), nil
	})), mcphttp.Options{})
	ask := func(info string) string {
		withInfo := strings.Replace(meta, `"_meta":{`, `"_meta":{`+info, 1)
		return s.do("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who",`+withInfo+`}}`, statelessHeaders("tools/call", "who")...).body
	}
	const key = `"io.modelcontextprotocol/clientInfo":`
	for _, test := range []struct{ got, want string }{
		{s.post(s.begin(mcp.LatestHandshake), callOf("1", "who", "")).body, "[t 1]"},
		{ask(key + `{"name":"n","version":"2","icons":[]},`), "[n 2]"},
		{ask(key + `{"name":"n","version":{}},`), "[n ]"},
		{ask(key + `null,`), "[ ]"},
		{ask(""), "[ ]"},
		{ask(key + `"n",`), "must be an object, got a string"},
	} {
		if !strings.Contains(test.got, test.want) {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
