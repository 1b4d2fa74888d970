package appmcp_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// A remote is a client over HTTP.
type remote struct {
	t       *testing.T
	url     string
	session string // empty in the stateless revision
}

// send sends a message, and returns the first message of the answer.
func (r *remote) send(method, name, params string) string {
	r.t.Helper()
	version, id := string(mcp.Latest), `"id":1,`
	if r.session != "" || method == "initialize" {
		version = string(mcp.LatestHandshake)
	} else {
		params += `,"_meta":{"io.modelcontextprotocol/protocolVersion":"` + version + `","io.modelcontextprotocol/clientCapabilities":{}}`
	}
	if strings.HasPrefix(method, "notifications/") {
		id = ""
	}
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel() // a subscription lasts until then
	body := fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":{%s}}`, id, method, strings.TrimPrefix(params, ","))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for header, value := range map[string]string{"Content-Type": "application/json", "MCP-Protocol-Version": version, "Mcp-Method": method, "Mcp-Name": name, "Mcp-Session-Id": r.session} {
		if value != "" {
			request.Header.Set(header, value)
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	if method == "initialize" {
		r.session = response.Header.Get("Mcp-Session-Id")
	}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if text := strings.TrimPrefix(lines.Text(), "data: "); strings.HasPrefix(text, "{") {
			return text
		}
	}
	return ""
}

// Over HTTP the app's resources exist only if that is asked for: in lists, for reading, for
// subscriptions and for completion, in both eras of the protocol.
func TestRemoteResources(t *testing.T) {
	for _, offered := range []bool{false, true} {
		server := newServer(t, appmcp.Options{RemoteResources: offered})
		err := server.CompleteResource("app://log{?after,limit}", func(context.Context, string, string, map[string]string) ([]string, error) { return []string{"17"}, nil })
		if err != nil {
			t.Fatal(err)
		}
		handler := mcphttp.NewHandler(server, mcphttp.Options{})
		listener := httptest.NewServer(handler)
		defer listener.Close()
		defer handler.Shutdown(t.Context())
		for _, sessions := range []bool{false, true} {
			client := &remote{t: t, url: listener.URL}
			if sessions {
				client.send("initialize", "", `"protocolVersion":"`+string(mcp.LatestHandshake)+`","capabilities":{},"clientInfo":{"name":"test","version":"1"}`)
				client.send("notifications/initialized", "", "")
			}
			check := func(method, name, params, shown string) {
				t.Helper()
				answer := client.send(method, name, params)
				if strings.Contains(answer, shown) != offered || answer == "" {
					t.Errorf("offered %t, sessions %t: %s %s: got %s, want %q in it: %t", offered, sessions, method, params, answer, shown, offered)
				}
			}
			check("resources/list", "", "", `"app://log"`)
			check("resources/list", "", "", `"app://features"`)
			check("resources/list", "", "", `"app://workers"`)
			check("resources/templates/list", "", "", `"app://log{?after,limit}"`)
			check("completion/complete", "", `"ref":{"type":"ref/resource","uri":"app://log{?after,limit}"},"argument":{"name":"after","value":""}`, `"17"`)
			for _, uri := range []string{"app://log", "app://log?after=0", "app://features", "app://workers"} {
				check("resources/read", uri, `"uri":"`+uri+`"`, `"contents"`)
				if sessions {
					check("resources/subscribe", uri, `"uri":"`+uri+`"`, `"result"`)
				} else {
					check("subscriptions/listen", "", `"notifications":{"resourceSubscriptions":["`+uri+`"]}`, `"`+uri+`"`)
				}
			}
		}
	}
}
