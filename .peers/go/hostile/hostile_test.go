package hostile_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A trial is a request with the expected response.
type trial struct {
	name   string
	raw    fmt.Stringer
	status []int // one of these
	code   int   // of the JSON-RPC error; 0 for any
}

// A written is an encoded request.
type written string

func (w written) String() string { return string(w) }

// try sends all trials, and expects one response to each.
func try(t *testing.T, trials []trial) {
	t.Helper()
	for _, one := range trials {
		all := exchange(t, one.raw.String())
		switch {
		case len(all) != 1:
			t.Errorf("%s: %d answers: %+v", one.name, len(all), all)
		case !slices.Contains(one.status, all[0].StatusCode):
			t.Errorf("%s: %s %s, want %v", one.name, all[0].Status, all[0].body, one.status)
		case one.code != 0 && all[0].code() != one.code:
			t.Errorf("%s: the error %d: %s, want %d", one.name, all[0].code(), all[0].body, one.code)
		case strings.Contains(all[0].body, keyA) || strings.Contains(all[0].body, keyB) || strings.Contains(all[0].body, "goroutine "):
			t.Errorf("%s: a leak: %s", one.name, all[0].body)
		}
	}
	healthy(t)
}

// is returns the expected statuses.
func is(status ...int) []int { return status }

func TestMethodsAndPaths(t *testing.T) {
	var trials []trial
	for _, method := range []string{"PUT", "PATCH", "TRACE", "HEAD", "BREW", "GET", "DELETE"} {
		trials = append(trials, trial{method + " without a session", request{method: method}, is(405), 0})
	}
	for _, path := range []string{"/", "/mcp/", "/MCP", "/mcp/x", "//mcp", "/mcp%2f", "/mcp/../mcp", "/./mcp", "/healthz", "/debug/pprof/", "/.well-known/oauth-protected-resource", "/mcp;x"} {
		r := add()
		r.path = path
		trials = append(trials, trial{"POST " + path, r, is(404, 401), 0})
	}
	trials = append(trials,
		trial{"CONNECT", written("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n"), is(400, 403, 404, 405), 0},
		trial{"an asterisk", written("OPTIONS * HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n"), is(400, 401, 404, 405), 0},
	)
	try(t, trials)
	for _, method := range []string{"PUT", "GET"} {
		if all := exchange(t, request{method: method}.String()); all[0].Header.Get("Allow") == "" {
			t.Errorf("%s: no Allow in %v", method, all[0].Header)
		}
	}
}

func TestKeys(t *testing.T) {
	with := func(headers ...string) request {
		r := add()
		r.as, r.headers = "-", append(r.headers, headers...)
		return r
	}
	query := add()
	query.as, query.path = "-", "/mcp?key="+keyA+"&api_key="+keyA+"&access_token="+keyA
	trials := []trial{
		{"none", with(), is(401), 0},
		{"a wrong one", with("X-Api-Token: " + strings.ToUpper(keyA)), is(401), 0},
		{"an empty one", with("X-Api-Token: "), is(401), 0},
		{"its beginning", with("X-Api-Token: " + keyA[:31]), is(401), 0},
		{"both at once", with("X-Api-Token: " + keyA + "," + keyB), is(401), 0},
		{"a wrong bearer", with("Authorization: Bearer nobody"), is(401), 0},
		{"no scheme", with("Authorization: " + keyA), is(401), 0},
		{"another scheme", with("Authorization: Basic " + keyA), is(401), 0},
		{"in the query", query, is(401), 0},
		{"two that differ", with("X-Api-Token: nobody", "X-Api-Token: "+keyA), is(400, 401), 0},
		{"two bearers that differ", with("Authorization: Bearer nobody", "Authorization: Bearer "+keyA), is(400, 401), 0},
	}
	try(t, trials)
	for _, one := range trials {
		all := exchange(t, one.raw.String())
		if all[0].StatusCode == http.StatusUnauthorized && all[0].Header.Get("Www-Authenticate") == "" {
			t.Errorf("%s: 401 without a challenge", one.name)
		}
	}
}

func TestHostsAndOrigins(t *testing.T) {
	with := func(headers ...string) request {
		r := add()
		r.headers = append(r.headers, headers...)
		return r
	}
	try(t, []trial{
		{"an evil host", with("Host: evil.example.com"), is(403), 0},
		{"an evil host with our port", with("Host: evil.example.com:" + strings.Split(address, ":")[1]), is(403), 0},
		{"a host that begins like ours", with("Host: 127.0.0.1.evil.example"), is(403), 0},
		{"an evil origin", with("Origin: http://evil.example.com"), is(403), 0},
		{"an origin that ends like ours", with("Origin: http://evil-localhost"), is(403), 0},
		{"no origin", with("Origin: null"), is(403), 0},
		{"two origins", with("Origin: http://localhost", "Origin: http://evil.example"), is(400, 403), 0},
		{"a fine origin", with("Origin: http://" + address), is(200), 0},
		{"localhost", with("Host: localhost:1", "Origin: http://localhost:1"), is(200, 403), 0},
		{"another host in the request line", written(strings.Replace(add().String(), "POST /mcp", "POST http://evil.example/mcp", 1)), is(400, 403), 0},
	})
}

func TestMediaTypes(t *testing.T) {
	with := func(headers ...string) request {
		r := add()
		r.headers = append(r.headers, headers...)
		return r
	}
	try(t, []trial{
		{"no Content-Type", with("Content-Type:"), is(415), 0},
		{"text", with("Content-Type: text/plain"), is(415), 0},
		{"a form", with("Content-Type: application/x-www-form-urlencoded"), is(415), 0},
		{"nearly JSON", with("Content-Type: application/json2"), is(415), 0},
		{"JSON with a character set", with("Content-Type: application/json; charset=utf-8"), is(200), 0},
		{"accepts HTML", with("Accept: text/html"), is(406), 0},
		{"accepts no stream", with("Accept: application/json"), is(406), 0},
		{"accepts anything", with("Accept: */*"), is(200), 0},
		{"says nothing", with("Accept:"), is(200), 0},
		{"packed", with("Content-Encoding: gzip"), is(200, 400, 415), 0},
	})
}

func TestMessages(t *testing.T) {
	session := begin(t, keyA)
	var trials []trial
	for _, one := range []struct {
		name, body string
		code       int
	}{
		{"nothing", "", -32700},
		{"no JSON", "hello", -32700},
		{"half of a message", `{"jsonrpc":"2.0","id":1,"method":"pi`, -32700},
		{"two messages", `{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, -32700},
		{"a byte order mark", "\uFEFF" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\xfe\"}", 0},
		{"a million brackets", strings.Repeat("[", 500_000), 0},
		{"deep objects", strings.Repeat(`{"a":`, 100_000), 0},
		{"null", "null", -32600},
		{"a number", "17", -32600},
		{"a string", `"ping"`, -32600},
		{"an empty object", "{}", -32600},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, -32600},
		{"an empty batch", `[]`, -32600},
		{"another JSON-RPC", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, -32600},
		{"no JSON-RPC", `{"id":1,"method":"ping"}`, -32600},
		{"an id that is null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
		{"an id that is true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		{"an id that is a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
		{"a method that is a number", `{"jsonrpc":"2.0","id":1,"method":5}`, -32600},
		{"params that are a list", `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, 0},
		{"params that are text", `{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}`, 0},
		{"request and answer", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600},
	} {
		in := request{body: one.body, headers: []string{"Mcp-Session-Id: " + session, "Mcp-Protocol-Version: 2025-11-25"}}
		inSession, alone := is(400), is(400, 404)
		switch {
		case one.code == 0: // the method checks the value
			inSession, alone = is(200, 400), is(200, 400, 404)
		case strings.Contains(one.name, "batch"): // one handshake revision has batches
			inSession = is(200, 400)
		}
		trials = append(trials,
			trial{"in a session, " + one.name, in, inSession, one.code},
			trial{"alone, " + one.name, request{body: one.body, headers: modern("ping", "")}, alone, 0},
		)
	}
	large := `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 2<<20) + `"}}`
	chunked := func(body string) written {
		r := request{headers: []string{"Content-Length:", "Transfer-Encoding: chunked", "Mcp-Session-Id: " + session}}
		return written(r.String() + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(body), body))
	}
	trials = append(trials,
		trial{"a message that is too large", request{body: large, headers: []string{"Mcp-Session-Id: " + session}}, is(413), 0},
		trial{"one in chunks that is too large", chunked(large), is(413), 0},
		trial{"one in chunks", chunked(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), is(200), 0},
		trial{"one that says that it is huge", request{body: "{}", headers: []string{"Content-Length: 999999999999999"}}, is(413), 0},
		trial{"one that breaks off", request{body: `{"jsonrpc":`, headers: []string{"Content-Length: 5000", "Mcp-Session-Id: " + session}}, is(400), 0},
	)
	try(t, trials)
}

func TestVersions(t *testing.T) {
	body := func(method, more string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + more + `}}`
	}
	call := `"name":"add","arguments":{"a":1,"b":2},`
	const other = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2031-01-01","io.modelcontextprotocol/clientCapabilities":{}}`
	try(t, []trial{
		{"an unknown version", request{headers: []string{"Mcp-Protocol-Version: 1999-01-01"}, body: body("tools/list", "")}, is(400), 0},
		{"no version at all", request{body: body("tools/list", "")}, is(400), 0},
		{"a header alone", request{headers: modern("tools/list", ""), body: body("tools/list", "")}, is(400), -32602},
		{"no header", request{body: body("tools/list", meta)}, is(400), -32020},
		{"two headers", request{headers: modern("tools/list", "", "Mcp-Protocol-Version: 2025-11-25"), body: body("tools/list", meta)}, is(400), -32020},
		{"a header that differs", request{headers: []string{"Mcp-Protocol-Version: 2031-01-01", "Mcp-Method: tools/list"}, body: body("tools/list", meta)}, is(400), -32020},
		{"a version that does not exist yet", request{headers: []string{"Mcp-Protocol-Version: 2031-01-01", "Mcp-Method: tools/list"}, body: body("tools/list", other)}, is(400), -32022},
		{"no capabilities", request{headers: modern("tools/list", ""), body: body("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`)}, is(400), -32602},
		{"capabilities that are text", request{headers: modern("tools/list", ""), body: body("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"all"}`)}, is(400), -32602},
		{"no method in the header", request{headers: []string{"Mcp-Protocol-Version: 2026-07-28"}, body: body("tools/list", meta)}, is(400), -32020},
		{"another method", request{headers: modern("tools/call", "add"), body: body("tools/list", meta)}, is(400), -32020},
		{"another case", request{headers: modern("TOOLS/LIST", ""), body: body("tools/list", meta)}, is(400), -32020},
		{"two methods", request{headers: modern("tools/list", "", "Mcp-Method: tools/call"), body: body("tools/list", meta)}, is(400), -32020},
		{"no name", request{headers: modern("tools/call", ""), body: body("tools/call", call+meta)}, is(400), -32020},
		{"another name", request{headers: modern("tools/call", "fail"), body: body("tools/call", call+meta)}, is(400), -32020},
		{"two names", request{headers: modern("tools/call", "add", "Mcp-Name: fail"), body: body("tools/call", call+meta)}, is(400), -32020},
		{"a name that is not what it says", request{headers: modern("tools/call", "=?base64?YWRk=?="), body: body("tools/call", call+meta)}, is(400), -32020},
		{"a name in disguise", request{headers: modern("tools/call", "=?base64?YWRk?="), body: body("tools/call", call+meta)}, is(200), 0},
		{"an unknown method", request{headers: modern("no/such", ""), body: body("no/such", meta)}, is(404), -32601},
		{"a handshake", request{headers: modern("initialize", ""), body: body("initialize", meta)}, is(404), -32601},
		{"a ping", request{headers: modern("ping", ""), body: body("ping", meta)}, is(404), -32601},
		{"an answer", request{headers: modern("", ""), body: `{"jsonrpc":"2.0","id":1,"result":{}}`}, is(400), 0},
		{"a batch", request{headers: modern("tools/list", ""), body: "[" + body("tools/list", meta) + "]"}, is(400), -32600},
	})
}
