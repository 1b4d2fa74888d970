package clienthttp_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// Errors do not have the secret parts of a URL.
func TestHTTPClientKeepsSecrets(t *testing.T) {
	elsewhere := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/redirects":
			http.Redirect(w, r, "https://hidden1@example.com/mcp?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
		return true
	})
	host := strings.TrimPrefix(elsewhere, "http://")
	for _, address := range []string{
		"http://hidden1@" + host + "/mcp?key=hidden2#hidden3",
		"http://hidden1:hidden2@" + host + "/redirects?key=hidden3",
		"http://hidden1@127.0.0.1:1/mcp?key=hidden2",
		"ftp://hidden1:hidden2@" + host + "/mcp?key=hidden3",
		"http://hidden1:%zz@" + host + "/mcp?key=hidden2",
		"/mcp?key=hidden1",
	} {
		if _, err := clienthttp.Dial(t.Context(), clienthttp.Server{URL: address}, client.Options{}); err == nil || strings.Contains(err.Error(), "hidden") {
			t.Errorf(`%s: %v; want an error without "hidden"`, address, err)
		}
	}
}

// The user and password of a URL are sent.
func TestHTTPClientOfANamedUser(t *testing.T) {
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(w http.ResponseWriter, r *http.Request) bool {
		if name, password, _ := r.BasicAuth(); name == "ann" && password == "secret" {
			return false
		}
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return true
	})
	for _, revision := range []mcp.Revision{mcp.Latest, mcp.LatestHandshake} {
		expectSum(t, dial(t, clienthttp.Server{URL: strings.Replace(url, "http://", "http://ann:secret@", 1)}, client.Options{Revision: revision}))
	}
}

// If a program has replaced http.DefaultTransport, the client uses the replacement.
func TestHTTPClientOfAnotherTransport(t *testing.T) {
	url := serveWith(t, fixture.New(t, mcp.Options{}), func(http.ResponseWriter, *http.Request) bool { return false })
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = &cutter{RoundTripper: usual}
	expectSum(t, dial(t, clienthttp.Server{URL: url}, client.Options{}))
}
