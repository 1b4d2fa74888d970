package mcphttp_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcphttp"
)

// The handler answers without a connection, under any path, and under any server.
func TestAnyServer(t *testing.T) {
	handler := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{})
	mux := http.NewServeMux()
	mux.Handle("/deep/mcp/", http.StripPrefix("/deep", handler))
	tls := httptest.NewUnstartedServer(mux)
	tls.EnableHTTP2 = true
	tls.StartTLS()
	defer tls.Close()
	plain := httptest.NewServer(mux)
	defer plain.Close()
	for name, server := range map[string]clienthttp.Server{
		"HTTP/1.1":    {URL: plain.URL + "/deep/mcp/"},
		"HTTP/2":      {URL: tls.URL + "/deep/mcp/", HTTP: tls.Client()},
		"Unix socket": overUnix(t, http.Serve, mux),
		"no network":  {URL: "http://localhost/deep/mcp/", HTTP: &http.Client{Transport: inMemory{mux}}},
	} {
		if got, err := callAdd(t.Context(), server); got != `{"sum":5}` || err != nil {
			t.Errorf("%s: add(2, 3) = %s, %v, want {\"sum\":5}", name, got, err)
		}
	}
}

// Serve accepts a Unix socket without a gate, because other machines cannot connect to it.
func TestServeUnix(t *testing.T) {
	handler := mcphttp.NewHandler(newFixture(t, mcp.Options{}), mcphttp.Options{})
	serve := func(listener net.Listener, _ http.Handler) error {
		return mcphttp.Serve(t.Context(), handler, mcphttp.ServeOptions{Listener: listener, Path: "/deep/mcp/"})
	}
	if got, err := callAdd(t.Context(), overUnix(t, serve, nil)); got != `{"sum":5}` || err != nil {
		t.Errorf("add(2, 3) = %s, %v, want {\"sum\":5}", got, err)
	}
}

// A wrapper of the handler authenticates callers, in a server without gates.
func TestAuthenticatedByWrapper(t *testing.T) {
	s := newFixture(t, mcp.Options{})
	if err := mcp.AddTool(s, mcp.Tool{Name: "who"}, func(ctx context.Context, _ struct{}) (string, error) {
		return auth.From(ctx).Actor(), nil
	}); err != nil {
		t.Fatal(err)
	}
	handler := mcphttp.NewHandler(s, mcphttp.Options{})
	wrapped := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), &auth.Identity{Subject: "ann"})))
	})
	r := httptest.NewRequest("POST", "/", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"who",`+meta+`}}`))
	for _, header := range append(statelessHeaders("tools/call", "who"), "Content-Type: application/json") {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	wrapped.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"text":"ann"`) {
		t.Errorf("who() = %d %s, want 200 and ann", w.Code, w.Body)
	}
}

// overUnix serves h on a Unix socket until the test ends, and returns the server for clients.
func overUnix(t *testing.T, serve func(net.Listener, http.Handler) error, h http.Handler) clienthttp.Server {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mcp.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { listener.Close() })
	go serve(listener, h)
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	transport := &http.Transport{DialContext: dial}
	t.Cleanup(transport.CloseIdleConnections)
	return clienthttp.Server{URL: "http://server/deep/mcp/", HTTP: &http.Client{Transport: transport}}
}

// inMemory is a transport that calls a handler.
type inMemory struct{ handler http.Handler }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	m.handler.ServeHTTP(w, r)
	return w.Result(), nil
}
