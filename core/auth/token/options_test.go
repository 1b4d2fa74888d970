package token

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

// Invalid options are refused, with a remedy.
func TestNew(t *testing.T) {
	for say, change := range map[string]func(*Options){
		"no issuer is set":                    func(o *Options) { o.Issuers = nil },
		`invalid resource "notes"`:            func(o *Options) { o.Resource = "notes" },
		`invalid resource ""`:                 func(o *Options) { o.Resource = "" },
		`invalid resource "http://notes`:      func(o *Options) { o.Resource = "http://notes.example.com/mcp" },
		`invalid resource "https://a@b`:       func(o *Options) { o.Resource = "https://a@b/mcp" },
		`invalid issuer "http://login`:        func(o *Options) { o.Issuers = []string{"http://login.example.com"} },
		`invalid issuer "https://l/?a=b"`:     func(o *Options) { o.Issuers = []string{"https://l/?a=b"} },
		`invalid issuer "https://l/#"`:        func(o *Options) { o.Issuers = []string{"https://l/#"} },
		`invalid issuer "https://[::1": must`: func(o *Options) { o.Issuers = []string{"https://[::1"} },
		`invalid JWKS "ftp://k"`:              func(o *Options) { o.JWKS = "ftp://k" },
		"is for one issuer":                   func(o *Options) { o.JWKS, o.Issuers = jwksURL, []string{login, "https://l"} },
		`invalid scope "a b"`:                 func(o *Options) { o.Required = []string{"a b"} },
		"an audience is empty":                func(o *Options) { o.Audience = []string{""} },
		`invalid scope "ä"`:                   func(o *Options) { o.Required = []string{"ä"} },
		`invalid issuer "http://localhost.e`:  func(o *Options) { o.Issuers = []string{"http://localhost.example.com"} },
		`invalid issuer "http://127.0.0.1.ex`: func(o *Options) { o.Issuers = []string{"http://127.0.0.1.example.com"} },
	} {
		o := Options{Resource: resource, Issuers: []string{login}}
		change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("New() = %v, want an error containing %q", err, say)
		}
	}
	for _, host := range []string{"localhost", "127.0.0.1:8181", "[::1]:8181"} {
		if _, err := New(Options{Resource: "http://" + host + "/mcp", Issuers: []string{"http://" + host}}); err != nil {
			t.Error(err)
		}
	}
}

// The audience of a token may differ from the public URL.
func TestAudience(t *testing.T) {
	s := newSigner(t, "EdDSA", "one")
	w := newWorld(t, s.public())
	g := w.gate(t, func(o *Options) { o.Audience = []string{"api://notes", "notes"} })
	if _, err := g.Authenticate(request(s.sign(t, nil, claimSet(map[string]any{"aud": "notes"})))); err != nil {
		t.Error(err)
	}
	id, err := g.Authenticate(request(s.sign(t, nil, claimSet(nil))))
	refusedAs(t, id, err, "invalid_token", "another server")
}

func TestChallenge(t *testing.T) {
	w := newWorld(t)
	plain, strict := w.gate(t, nil), w.gate(t, func(o *Options) { o.Required = []string{"mcp"} })
	const where = `resource_metadata="https://notes.example.com/.well-known/oauth-protected-resource/mcp"`
	const told = `error="invalid_token", error_description="the token is not valid for this server, or has expired"`
	for _, test := range []struct {
		gate   *Gate
		why    string
		scopes []string
		want   string
	}{
		{plain, "", nil, `Bearer ` + where},
		{strict, "", nil, `Bearer ` + where + `, scope="mcp"`},
		{plain, "invalid_token", nil, `Bearer ` + where + `, ` + told},
		{strict, "invalid_token", nil, `Bearer ` + where + `, scope="mcp", ` + told},
		{strict, "invalid_request", nil, `Bearer ` + where + `, scope="mcp", error="invalid_request"`},
		{plain, "insufficient_scope", []string{"a", "b"}, `Bearer error="insufficient_scope", scope="a b", ` + where},
		{plain, "", []string{"a"}, `Bearer error="insufficient_scope", scope="a", ` + where},
		{strict, "insufficient_scope", []string{"a", "mcp"}, `Bearer error="insufficient_scope", scope="mcp a", ` + where},
		{strict, "insufficient_scope", nil, `Bearer error="insufficient_scope", scope="mcp", ` + where},
		{plain, "x\"y\r\nZ", []string{"a\"b", "c"}, `Bearer ` + where + `, scope="c", error="xyZ"`},
	} {
		if got := test.gate.Challenge(test.why, test.scopes); got != test.want {
			t.Errorf("%s %v:\n%s\nnot\n%s", test.why, test.scopes, got, test.want)
		}
	}
	for name := range plain.issuers {
		if got := plain.Credentials(); !strings.Contains(got, name) {
			t.Errorf("Credentials() = %q, want it to name %s", got, name)
		}
	}
}

func TestMetadata(t *testing.T) {
	for from, want := range map[string]string{
		"https://notes.example.com":         WellKnown,
		"https://notes.example.com/":        WellKnown,
		"https://notes.example.com/a/mcp":   WellKnown + "/a/mcp",
		"http://localhost:8181/mcp":         WellKnown + "/mcp",
		"https://notes.example.com/mc%20p/": WellKnown + "/mc p",
	} {
		g, err := New(Options{Resource: from, Issuers: []string{login}})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := g.Metadata(); got != want {
			t.Errorf("%s: got %q, want %q", from, got, want)
		}
	}
	w := newWorld(t)
	g := w.gate(t, func(o *Options) {
		o.Required = []string{"mcp", "notes:read", "mcp", "offline_access"}
	})
	path, page := g.Metadata()
	answer := httptest.NewRecorder()
	page.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	var got map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"resource": resource, "authorization_servers": []any{login}, "scopes_supported": []any{"mcp", "notes:read"}, "bearer_methods_supported": []any{"header"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the page is %s, want %v", answer.Body, want)
	}
	head := answer.Result().Header
	if answer.Code != 200 || head.Get("Content-Type") != "application/json" || head.Get("Access-Control-Allow-Origin") != "*" || !strings.Contains(head.Get("Cache-Control"), "max-age=") {
		t.Errorf("the metadata comes with %d %v; want 200, Content-Type application/json, Access-Control-Allow-Origin * and a Cache-Control with max-age=", answer.Code, head)
	}
	for method, want := range map[string]int{"HEAD": 200, "OPTIONS": 204, "POST": 405, "PUT": 405, "DELETE": 405} {
		answer := httptest.NewRecorder()
		page.ServeHTTP(answer, httptest.NewRequest(method, path, nil))
		if answer.Code != want {
			t.Errorf("%s gives the status %d, want %d", method, answer.Code, want)
		}
		if answer.Body.Len() > 0 && method != "POST" && want != 405 {
			t.Errorf("%s gives the body %s, want none", method, answer.Body)
		}
		if origin := answer.Header().Get("Access-Control-Allow-Origin"); origin != "*" {
			t.Errorf("%s gives Access-Control-Allow-Origin %q, want *", method, origin)
		}
		if want == 405 && answer.Header().Get("Allow") == "" {
			t.Errorf("%s gets 405 without the header Allow, want the allowed methods", method)
		}
	}
}
