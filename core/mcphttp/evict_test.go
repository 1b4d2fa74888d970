package mcphttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// A new session replaces the one that has been idle longest, of the same client or, at the limit of
// the server, of any client. If none is idle, the client is refused.
func TestIdleSessionsAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{MaxSessions: 5, ClientShare: 60})
		serve := func(ctx context.Context, method, user, session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, "/mcp", strings.NewReader(body)).WithContext(auth.With(ctx, &auth.Identity{Subject: user}))
			r.Header = http.Header{"Content-Type": {"application/json"}}
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		begin := func(user string, want int) string {
			t.Helper()
			w := serve(t.Context(), "POST", user, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
			if w.Code != want {
				t.Fatalf("initialize of %s: got %d %s, want %d", user, w.Code, w.Body, want)
			}
			return w.Header().Get("Mcp-Session-Id")
		}
		ping := func(user, session string, want int) {
			t.Helper()
			if w := serve(t.Context(), "POST", user, session, `{"jsonrpc":"2.0","id":1,"method":"ping"}`); w.Code != want {
				t.Errorf("ping of %s: got %d %s, want %d", user, w.Code, w.Body, want)
			}
		}
		first, second, third := begin("ann", 200), begin("ann", 200), begin("ann", 200)
		begin("ann", 429) // none is idle yet
		time.Sleep(6 * time.Second)
		ping("ann", first, 200)
		time.Sleep(time.Second)
		ping("ann", third, 200)
		fourth := begin("ann", 200) // replaces second
		ping("ann", second, 404)
		begin("ann", 429)

		// The open stream of a client keeps its session; once it is closed, the session may be
		// replaced.
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			serve(ctx, "GET", "ann", first, "")
			close(ended)
		}()
		time.Sleep(time.Minute)
		ping("ann", third, 200)
		ping("ann", fourth, 200)
		begin("ann", 429)
		leave()
		<-ended
		fifth := begin("ann", 200)
		ping("ann", first, 404)

		// The limit of the server.
		time.Sleep(time.Second)
		begin("bob", 200)
		begin("bob", 200)
		begin("eve", 503)
		time.Sleep(10 * time.Second)
		ping("ann", fifth, 200)
		ping("ann", third, 200)
		begin("eve", 200)
		ping("ann", fourth, 404)
		if err := h.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Until the server has started, calls are refused, and earlier sessions do not exist.
func TestStarting(t *testing.T) {
	started := false
	s := newTestSite(t, newFixture(t, mcp.Options{}), mcphttp.Options{Started: func() bool { return started }})
	list := `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + meta + `}}`
	if a := s.do("POST", list, statelessHeaders("tools/list", "")...); a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("got %s %v %s; want 503 with the header Retry-After", a.Status, a.Header, a.body)
	}
	if a := s.post("earlier", `{"jsonrpc":"2.0","id":1,"method":"ping"}`); a.StatusCode != 404 {
		t.Errorf("an earlier session gets %s %q, want 404", a.Status, a.body)
	}
	started = true
	if a := s.do("POST", list, statelessHeaders("tools/list", "")...); a.StatusCode != 200 {
		t.Errorf("got %s %s, want 200", a.Status, a.body)
	}
}
