package mcphttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/auth"
)

const key = "0123456789abcdef0123456789abcdef"

// echo responds with the caller and the body of the request.
type echo struct{}

func (echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	switch {
	case err != nil && isTimeout(err):
		w.WriteHeader(http.StatusRequestTimeout)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	default:
		io.WriteString(w, r.Method+" "+auth.From(r.Context()).Principal()+" "+string(text))
	}
}

func (echo) Shutdown(context.Context) error { return nil }

// isTimeout reports whether err is the timeout of a body.
func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.As(err, &timeout) && timeout.Timeout()
}

// keys returns a gate for the key.
func keys(t testing.TB) auth.Gate {
	t.Helper()
	gate, err := auth.Keys("weather", []string{key})
	if err != nil {
		t.Fatal(err)
	}
	return gate
}

// tokenGate is a fake gate: the token "good" is valid, "bad" is expired, "odd" cannot be checked.
type tokenGate struct{}

func (tokenGate) Authenticate(r *http.Request) (*auth.Identity, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer good":
		return &auth.Identity{Subject: "ann"}, nil
	case "Bearer bad":
		return nil, &auth.Refusal{Code: "invalid_token", Message: "the token has expired"}
	case "Bearer narrow":
		return nil, &auth.Refusal{Code: "insufficient_scope", Message: "the token does not do"}
	case "Bearer odd":
		return nil, errors.New("no route to the issuer of eyJsecret")
	}
	return nil, nil
}

func (tokenGate) Challenge(why string, scopes []string) string {
	return "Bearer resource_metadata=x " + why
}

func (tokenGate) Credentials() string { return "a token of ann's" }

// loopback and anyAddr are listening addresses.
func loopback() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8181} }
func anyAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4zero, Port: 8181} }

// An endable handler can be shut down, as a [Handler] can.
type endable interface {
	http.Handler
	Shutdown(ctx context.Context) error
}

// newService returns the service of a handler that allows some hosts and origins.
func newService(t testing.TB, h endable, access Options) service {
	t.Helper()
	origins := newOriginPolicy(access)
	if origins.err != nil {
		t.Fatal(origins.err)
	}
	return service{h, h.Shutdown, origins}
}

// newTestGuard returns a guard of an echo.
func newTestGuard(t testing.TB, addr net.Addr, access Options, o ServeOptions) *guard {
	t.Helper()
	return &guard{ServeOptions: o.WithDefaults(), service: newService(t, echo{}, access), at: site{addr, len(o.Gates) > 0}}
}

// sendRequest sends a request such as "POST /mcp", with headers such as "Name: value".
func sendRequest(t testing.TB, d http.Handler, request string, headers ...string) *http.Response {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, strings.NewReader("hello"))
	r.Host = "localhost:8181"
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

// read returns the body of a response.
func read(t testing.TB, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGuard(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "page") })
	plain := newTestGuard(t, loopback(), Options{Hosts: []string{"pc.local", "odd:99"}, Origins: []string{"https://app.example.com"}}, ServeOptions{})
	keyed := newTestGuard(t, loopback(), Options{}, ServeOptions{Gates: []auth.Gate{keys(t)}, Health: true, Extra: map[string]http.Handler{"/.well-known/x": page}})
	far := newTestGuard(t, anyAddr(), Options{Origins: []string{"null"}}, ServeOptions{Gates: []auth.Gate{keys(t)}})
	wide := newTestGuard(t, anyAddr(), Options{Origins: []string{"*"}}, ServeOptions{BehindProxy: true})
	front := newTestGuard(t, anyAddr(), Options{Hosts: []string{"mcp.example.com"}}, ServeOptions{BehindProxy: true})
	for _, test := range []struct {
		door    *guard
		request string
		headers []string
		status  int
	}{
		{plain, "POST /mcp", nil, 200},
		{plain, "GET /mcp", nil, 200},
		{plain, "DELETE /mcp", nil, 200},
		{plain, "POST /mcp?x=1", nil, 200},

		{plain, "POST /", nil, 404},
		{plain, "POST /mcp/", nil, 404},
		{plain, "POST /MCP", nil, 404},
		{plain, "POST /mcp/../mcp", nil, 404},
		{plain, "GET /healthz", nil, 404},
		{plain, "GET /.well-known/x", nil, 404},
		{plain, "OPTIONS /x", []string{"Origin: http://localhost", "Access-Control-Request-Method: POST"}, 404},
		{keyed, "GET /nothing", nil, 404},
		{keyed, "GET /healthz", nil, 200},
		{keyed, "POST /healthz", nil, 405},
		{plain, "GET /readyz", nil, 404},
		{keyed, "GET /readyz", nil, 200},
		{keyed, "POST /readyz", nil, 405},
		{keyed, "GET /.well-known/x", nil, 200},
		{keyed, "GET /.well-known/x/", nil, 404},

		{plain, "POST /mcp", []string{"Host: localhost"}, 200},
		{plain, "POST /mcp", []string{"Host: LocalHost:1"}, 200},
		{plain, "POST /mcp", []string{"Host: 127.0.0.1:8181"}, 200},
		{plain, "POST /mcp", []string{"Host: [::1]:8181"}, 200},
		{plain, "POST /mcp", []string{"Host: [::1]"}, 200},
		{plain, "POST /mcp", []string{"Host: pc.local:8181"}, 200},
		{plain, "POST /mcp", []string{"Host: PC.local"}, 200},
		{plain, "POST /mcp", []string{"Host: odd:99"}, 200},
		{plain, "POST /mcp", []string{"Host: odd:98"}, 403},
		{plain, "POST /mcp", []string{"Host: odd"}, 403},
		{plain, "POST /mcp", []string{"Host: evil.example.com"}, 403},
		{plain, "GET /nothing", []string{"Host: evil.example.com"}, 403},
		{plain, "POST /mcp", []string{"Host: "}, 403},
		{plain, "POST /mcp", []string{"Host: localhost.evil.example.com"}, 403},
		{plain, "POST /mcp", []string{"Host: localhost:evil"}, 403},
		{plain, "POST /mcp", []string{"Host: localhost:"}, 403},
		{plain, "POST /mcp", []string{"Host: localhost@evil"}, 403},
		{plain, "POST /mcp", []string{"Host: 127.0.0.1.evil"}, 403},
		{plain, "POST /mcp", []string{"Host: ::1"}, 403},
		{keyed, "POST /mcp", []string{"Host: evil.example.com", "X-Api-Token: " + key}, 403},
		{far, "POST /mcp", []string{"Host: mcp.example.com", "X-Api-Token: " + key}, 200},

		{plain, "POST /mcp", []string{"Origin: http://localhost:5173"}, 200},
		{plain, "POST /mcp", []string{"Origin: https://127.0.0.1"}, 200},
		{plain, "POST /mcp", []string{"Origin: http://[::1]:1"}, 200},
		{plain, "POST /mcp", []string{"Origin: https://app.example.com"}, 200},
		{plain, "POST /mcp", []string{"Origin: http://pc.local:8181", "Host: pc.local:8181"}, 200},
		{plain, "POST /mcp", []string{"Origin: http://pc.local", "Host: pc.local:80"}, 200},
		{plain, "POST /mcp", []string{"Origin: http://pc.local:8182", "Host: pc.local:8181"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://app.example.com"}, 403},
		{plain, "POST /mcp", []string{"Origin: https://app.example.com:8443"}, 403},
		{plain, "POST /mcp", []string{"Origin: https://app.example.com.evil"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://evil.example.com", "Host: evil.example.com"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://evil.example.com"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://localhost.evil"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://localhost:80@evil"}, 403},
		{plain, "POST /mcp", []string{"Origin: http://localhost/"}, 403},
		{plain, "POST /mcp", []string{"Origin: file://localhost"}, 403},
		{plain, "POST /mcp", []string{"Origin: localhost"}, 403},
		{plain, "POST /mcp", []string{"Origin: null"}, 403},
		{plain, "POST /mcp", []string{"Origin: *"}, 403},
		{plain, "POST /mcp", []string{"Origin: "}, 403},
		{plain, "POST /mcp", []string{"Origin: http://localhost", "Origin: http://localhost"}, 403},
		{plain, "GET /nothing", []string{"Origin: http://evil.example.com"}, 403},
		{far, "POST /mcp", []string{"Origin: null", "X-Api-Token: " + key}, 200},
		{far, "POST /mcp", []string{"Origin: http://localhost:1", "X-Api-Token: " + key}, 403},
		{far, "POST /mcp", []string{"Origin: https://mcp.example.com", "Host: mcp.example.com", "X-Api-Token: " + key}, 200},
		{far, "POST /mcp", []string{"Origin: https://mcp.example.com", "Host: other.example.com", "X-Api-Token: " + key}, 403},
		{front, "POST /mcp", []string{"Host: anything.example.com"}, 200},
		{front, "POST /mcp", []string{"Origin: https://mcp.example.com", "Host: mcp.example.com"}, 200},
		{front, "POST /mcp", []string{"Origin: http://localhost:8181", "Host: localhost:8181"}, 200},
		{front, "POST /mcp", []string{"Origin: http://evil.example.com:8181", "Host: evil.example.com:8181"}, 403},
		{wide, "POST /mcp", []string{"Origin: https://anywhere.example"}, 200},
		{wide, "POST /mcp", []string{"Origin: a", "Origin: b"}, 403},

		{keyed, "POST /mcp", nil, 401},
		{keyed, "OPTIONS /mcp", nil, 401},
		{keyed, "POST /mcp", []string{"X-Api-Token: " + key}, 200},
		{keyed, "POST /mcp", []string{"Authorization: Bearer " + key}, 200},
		{keyed, "POST /mcp", []string{"Authorization: Bearer other"}, 401},
		{keyed, "POST /mcp", []string{"X-Api-Token: other"}, 401},
		{keyed, "POST /mcp", []string{"X-Api-Token: " + key, "X-Api-Token: " + key}, 400},
		{keyed, "POST /mcp", []string{"X-Api-Token: " + key, "Authorization: Bearer other"}, 400},
		{keyed, "POST /mcp", []string{"Origin: http://evil.example.com", "X-Api-Token: " + key}, 403},
	} {
		response := sendRequest(t, test.door, test.request, test.headers...)
		text := read(t, response)
		if response.StatusCode != test.status {
			t.Errorf("%s with %q gives %d, want %d", test.request, test.headers, response.StatusCode, test.status)
		}
		served := strings.HasPrefix(test.request, "POST ") && test.status == 200
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
			if got := response.Header.Get(name); !served && got != want {
				t.Errorf("%s with %q has the header %s: %q, want %q", test.request, test.headers, name, got, want)
			}
		}
		if test.status == 405 || test.status < 400 {
			continue
		}
		if allowed := response.Header.Get("Access-Control-Allow-Origin"); test.status == 403 && allowed != "" {
			t.Errorf("%s with %q is refused, and %q may read that", test.request, test.headers, allowed)
		}
		var refused struct {
			Version string           `json:"jsonrpc"`
			ID      *json.RawMessage `json:"id"`
			Error   struct {
				Code    int
				Message string
			}
		}
		if err := json.Unmarshal([]byte(text), &refused); err != nil || refused.Version != "2.0" || refused.ID != nil || refused.Error.Code != -32600 || refused.Error.Message == "" {
			t.Errorf(`%s with %q is refused with %s (%v); want version 2.0, no id, the code -32600 and a message`, test.request, test.headers, text, err)
		}
	}
}

// The error of a refused request has the remedy, and a shortened quote of the request.
func TestRemedies(t *testing.T) {
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	remedy := func(option string) string { return "set " + option }
	d := newTestGuard(t, loopback(), Options{}, ServeOptions{Remedy: remedy, Logger: logger})
	for _, test := range []struct {
		request, header string
		says            string
	}{
		{"POST /mcp/", "Accept: a", "the endpoint is /mcp"},
		{"GET /healthz", "Accept: a", "/healthz does not exist; the endpoint is /mcp; set Health"},
		{"POST /mcp", "Host: evil.example.com", `host "evil.example.com" is not allowed; set Hosts`},
		{"POST /mcp", "Origin: https://evil.example.com", `origin "https://evil.example.com" is not allowed; set Origins`},
		{"POST /mcp", "Origin: " + strings.Repeat("a", 5000), strings.Repeat("a", maxShown) + `…" is not`},
	} {
		var refused struct{ Error struct{ Message string } }
		text := read(t, sendRequest(t, d, test.request, test.header))
		if err := json.Unmarshal([]byte(text), &refused); err != nil || !strings.Contains(refused.Error.Message, test.says) {
			t.Errorf("%s with %.80q is refused with %s (%v); want a message containing %q", test.request, test.header, text, err, test.says)
		}
	}
	if !strings.Contains(logged.String(), "https://evil.example.com") {
		t.Errorf("the log is %q, want it to name the origin https://evil.example.com", logged.String())
	}
}

// A refused request is logged once.
func TestRefusalLogged(t *testing.T) {
	var logged bytes.Buffer
	d := newTestGuard(t, loopback(), Options{}, ServeOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	read(t, sendRequest(t, d, "POST /nothing"))
	if text, want := logged.String(), `msg=refused method=POST path=/nothing status=404 error="/nothing does not exist`; strings.Count(text, "\n") != 1 || !strings.Contains(text, want) {
		t.Errorf("the log is\n%s\nwant one line containing\n%s", text, want)
	}
	logged.Reset()
	if read(t, sendRequest(t, d, "POST /mcp")); logged.Len() > 0 {
		t.Errorf("a request that is not refused is logged as %q, want nothing", logged.String())
	}
}

// Requests that several gates accept or refuse.
func TestGates(t *testing.T) {
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := newTestGuard(t, loopback(), Options{}, ServeOptions{Gates: []auth.Gate{keys(t), tokenGate{}}, Logger: logger})
	for _, test := range []struct {
		headers    []string
		status     int
		challenges string
		body       string // is in it
	}{
		{nil, 401, `Bearer realm="weather"|Bearer resource_metadata=x `, "authentication required; send a key as X-Api-Token or as Authorization: Bearer, or a token of ann's"},
		{[]string{"Authorization: Bearer " + key}, 200, "", `["","key-`},
		{[]string{"Authorization: Bearer good"}, 200, "", `["","ann",""]`},
		{[]string{"Authorization: Bearer other"}, 401, `Bearer realm="weather", error="invalid_token"|Bearer resource_metadata=x invalid_token`, "invalid credentials"},
		{[]string{"Authorization: Basic eDp5"}, 401, `Bearer realm="weather", error="invalid_token"|Bearer resource_metadata=x invalid_token`, "invalid credentials"},
		{[]string{"Authorization: Bearer bad"}, 401, `Bearer realm="weather", error="invalid_token"|Bearer resource_metadata=x invalid_token`, "expired"},
		{[]string{"Authorization: Bearer narrow"}, 403, `Bearer realm="weather", error="insufficient_scope"|Bearer resource_metadata=x insufficient_scope`, "does not do"},
		{[]string{"Authorization: Bearer odd"}, 503, "", "retry later"},
		{[]string{"X-Api-Token: good"}, 401, `Bearer realm="weather", error="invalid_token"|Bearer resource_metadata=x invalid_token`, "key"},
	} {
		response := sendRequest(t, d, "POST /mcp", test.headers...)
		text := read(t, response)
		challenges := strings.Join(response.Header["Www-Authenticate"], "|")
		if response.StatusCode != test.status || challenges != test.challenges || !strings.Contains(text, test.body) {
			t.Errorf("%q: %d, the challenges %s, %s; want %d, the challenges %s, and %q in the text", test.headers, response.StatusCode, challenges, text, test.status, test.challenges, test.body)
		}
		if retry := response.Header.Get("Retry-After"); (retry != "") != (test.status == 503) {
			t.Errorf(`%q: the header Retry-After is %q, want one only with the status 503; the status is %d`, test.headers, retry, test.status)
		}
		if strings.Contains(text, "eyJsecret") {
			t.Errorf(`%q: the client gets %q, want it without "eyJsecret"`, test.headers, text)
		}
	}
	for _, secret := range []string{key, "other", "Basic", "eDp5"} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log is %q, want it without the secret %q", logged.String(), secret)
		}
	}
	if !strings.Contains(logged.String(), "no route to the issuer") {
		t.Errorf(`the log is %q, want it to contain "no route to the issuer"`, logged.String())
	}
}

func TestPreflight(t *testing.T) {
	d := newTestGuard(t, anyAddr(), Options{Origins: []string{"https://app.example.com"}}, ServeOptions{Gates: []auth.Gate{keys(t)}})
	response := sendRequest(t, d, "OPTIONS /mcp", "Origin: https://app.example.com", "Access-Control-Request-Method: POST",
		"Access-Control-Request-Headers: content-type,mcp-param-city", "Access-Control-Request-Headers: Mcp-Param-Unit")
	if response.StatusCode != 204 {
		t.Fatalf("the preflight gives %s, want 204", response.Status)
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":      "https://app.example.com",
		"Access-Control-Allow-Methods":     "GET, POST, DELETE",
		"Access-Control-Allow-Headers":     "content-type,mcp-param-city, Mcp-Param-Unit",
		"Access-Control-Expose-Headers":    "Mcp-Session-Id, WWW-Authenticate, Retry-After",
		"Access-Control-Max-Age":           "7200",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := response.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if vary := response.Header.Get("Vary"); !strings.HasPrefix(vary, "Origin") {
		t.Errorf(`Vary: got %q, want the prefix "Origin"`, vary)
	}
	if response := sendRequest(t, d, "OPTIONS /mcp", "Origin: https://evil.example.com", "Access-Control-Request-Method: POST"); response.StatusCode != 403 {
		t.Errorf("the preflight of another: got %v, want 403", response.StatusCode)
	}
	if response := sendRequest(t, d, "POST /mcp", "Origin: https://app.example.com"); response.StatusCode != 401 || response.Header.Get("Access-Control-Allow-Origin") == "" {
		t.Errorf("a request of a page without a key gives %d %v, want 401 and the header Access-Control-Allow-Origin", response.StatusCode, response.Header)
	}
	if response := sendRequest(t, d, "POST /mcp", "X-Api-Token: "+key); response.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("without an origin the answer has the headers %v, want no Access-Control-Allow-Origin", response.Header)
	}
}

func TestClient(t *testing.T) {
	r := httptest.NewRequest("POST", "/mcp", nil)
	if got := ForwardedClient(r); got != "" {
		t.Errorf(`a request without an address: ForwardedClient(r) = %q, want ""`, got)
	}
	r.Header.Add("X-Forwarded-For", "6.6.6.6")
	r.Header.Add("X-Forwarded-For", "7.7.7.7, 192.0.2.1")
	if got := ForwardedClient(r); got != "192.0.2.1" {
		t.Errorf(`the client: ForwardedClient(r) = %q, want "192.0.2.1"`, got)
	}
	id := &auth.Identity{Subject: "ann"}
	h := &Handler{o: Options{Client: ForwardedClient}}
	if principal, client := h.identify(r.WithContext(auth.With(t.Context(), id))); principal != id.Principal() || client != principal {
		t.Errorf("principal = %q, client = %q; want %q for both", principal, client, id.Principal())
	}
	if principal, client := h.identify(r); principal != "" || client != "192.0.2.1" {
		t.Errorf(`without an identity: principal = %q, client = %q; want "" and "192.0.2.1"`, principal, client)
	}
}

func BenchmarkGuard(b *testing.B) {
	for name, d := range map[string]*guard{"open": newTestGuard(b, loopback(), Options{}, ServeOptions{}), "keys": newTestGuard(b, loopback(), Options{}, ServeOptions{Gates: []auth.Gate{keys(b)}})} {
		d.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		b.Run(name, func(b *testing.B) {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Host = "127.0.0.1:8181"
			r.Header.Set("X-Api-Token", key)
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				d.ServeHTTP(w, r)
			}
		})
	}
}

// The readiness is public, and a degraded server is ready unless the check is strict.
func TestReadiness(t *testing.T) {
	for _, test := range []struct {
		unready, degraded []string
		path              string
		status            int
		body              string
	}{
		{nil, nil, ReadyPath, 200, `{"status":"ready"}`},
		{[]string{"replaying"}, nil, ReadyPath, 503, `{"status":"unavailable","reasons":["replaying"]}`},
		{[]string{"replaying"}, nil, HealthPath, 200, "ok"},
		{nil, []string{"feature posts: stopped"}, ReadyPath, 200, `{"status":"degraded","reasons":["feature posts: stopped"]}`},
		{nil, []string{"feature posts: stopped"}, ReadyPath + "?strict", 503, `{"status":"degraded","reasons":["feature posts: stopped"]}`},
		{[]string{"store: full"}, []string{"feature posts: stopped"}, ReadyPath, 503, `{"status":"unavailable","reasons":["store: full","feature posts: stopped"]}`},
	} {
		o := ServeOptions{Health: true, Gates: []auth.Gate{keys(t)}, Readiness: func() (_, _ []string) { return test.unready, test.degraded }}
		g := newTestGuard(t, loopback(), Options{}, o)
		r := httptest.NewRequest("GET", test.path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r)
		if w.Code != test.status || strings.TrimSpace(w.Body.String()) != test.body {
			t.Errorf("%s: got %d %s, want %d %s", test.path, w.Code, w.Body, test.status, test.body)
		}
	}
}

// Behind a proxy, the log names the client and not the proxy.
func TestForwardedCaller(t *testing.T) {
	for _, test := range []struct {
		behindProxy bool
		forwarded   string
		want        string
	}{
		{false, "", "caller=192.0.2.1:1234"},
		{false, "203.0.113.9", "caller=192.0.2.1:1234"},
		{true, "", "caller=192.0.2.1:1234"},
		{true, "198.51.100.7, 203.0.113.9", "caller=203.0.113.9"},
	} {
		var logged safeBuffer
		o := ServeOptions{Gates: []auth.Gate{keys(t)}, BehindProxy: test.behindProxy, Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		g := newTestGuard(t, loopback(), Options{}, o)
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Host = "localhost"
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		g.ServeHTTP(httptest.NewRecorder(), r)
		if got := logged.String(); !strings.Contains(got, "status=401") || !strings.HasSuffix(strings.TrimSpace(got), test.want) {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}
