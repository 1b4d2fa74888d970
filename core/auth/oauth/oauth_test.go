package oauth

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/auth/token"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

const resource = "http://127.0.0.1:8181/mcp"

// serve returns the extension of a server that was started with arguments.
func serve(t *testing.T, args ...string) *OAuth {
	t.Helper()
	o := New("my-notes")
	cmd := &cobra.Command{Use: "serve", RunE: func(*cobra.Command, []string) error { return nil }}
	o.Flags(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return o
}

// The flags are those of serve, and each names its variable.
func TestFlags(t *testing.T) {
	o := New("my-notes")
	other := &cobra.Command{Use: "mcp"}
	o.Flags(other)
	if other.HasFlags() {
		t.Error("HasFlags() of the command mcp = true, want false: it has no use for tokens")
	}
	cmd := &cobra.Command{Use: "serve"}
	o.Flags(cmd)
	for _, name := range []string{"oauth-audience", "oauth-issuer", "oauth-jwks", "oauth-scopes"} {
		f := cmd.Flags().Lookup(name)
		if f == nil {
			t.Fatalf("serve has no --%s", name)
		}
		if variable := "MY_NOTES_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")); !strings.HasSuffix(f.Usage, "(default $"+variable+")") {
			t.Errorf("the usage of --%s is %q, want the suffix %q", name, f.Usage, "(default $"+variable+")")
		}
	}
	if len(o.Commands()) > 0 {
		t.Errorf("Commands() = %+v, want none", o.Commands())
	}
	end, err := o.Open(t.Context(), nil, nil)
	if err != nil {
		t.Fatalf("Open() = %v, want no error", err)
	}
	if err := end(); err != nil {
		t.Errorf("close = %v, want no error", err)
	}
}

// Without an issuer it is off, and incomplete options are refused with a remedy.
func TestOff(t *testing.T) {
	if gate, pages, err := serve(t).Gate(resource, slog.Default()); gate != nil || pages != nil || err != nil {
		t.Errorf("Gate() = %v, %v, %v; want no gate, no pages and no error", gate, pages, err)
	}
	if way := serve(t).SetupHint(); !strings.Contains(way, "--oauth-issuer") || !strings.Contains(way, "MY_NOTES_OAUTH_ISSUER") {
		t.Errorf("SetupHint() = %q; want it to name --oauth-issuer and MY_NOTES_OAUTH_ISSUER", way)
	}
	for _, args := range [][]string{{"--oauth-jwks", "https://a/b"}, {"--oauth-audience", "x"}, {"--oauth-scopes", "x"}} {
		gate, _, err := serve(t, args...).Gate(resource, slog.Default())
		if gate != nil || terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), "--oauth-issuer") || !strings.Contains(err.Error(), "MY_NOTES_OAUTH_ISSUER") {
			t.Errorf(`%v: Gate() = %v, %v; want no gate and an error with exit code %d that names --oauth-issuer and MY_NOTES_OAUTH_ISSUER`, args, gate, err, terminal.ExitUsage)
		}
	}
	gate, _, err := serve(t, "--oauth-issuer", "https://login.example.com").Gate("", slog.Default())
	if gate != nil || terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), "--public-url") {
		t.Errorf("without a known address: Gate() = %v, %v; want no gate and an error with exit code %d that names --public-url", gate, err, terminal.ExitUsage)
	}
	gate, _, err = serve(t, "--oauth-issuer", "http://login.example.com").Gate(resource, slog.Default())
	if gate != nil || terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), "https") {
		t.Errorf("an issuer without https: Gate() = %v, %v; want no gate and an error with exit code %d that names https", gate, err, terminal.ExitUsage)
	}
	gate, _, err = serve(t, "--oauth-issuer", "127.0.0.1:9191").Gate(resource, slog.Default())
	if gate != nil || terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), `"127.0.0.1:9191": must be an absolute URL`) || !strings.Contains(err.Error(), "https://login.example.com") {
		t.Errorf(`an issuer without a scheme: Gate() = %v, %v; want no gate and an error with exit code %d that contains "\"127.0.0.1:9191\": must be an absolute URL" and names https://login.example.com`, gate, err, terminal.ExitUsage)
	}
}

// An empty value, such as that of an unset variable, is refused, because it would disable the
// check.
func TestSaysNothing(t *testing.T) {
	const login = "https://login.example.com"
	for _, test := range []struct {
		args []string
		name string // of a variable
		says string
	}{
		{[]string{"--oauth-issuer", ""}, "", "--oauth-issuer"},
		{[]string{"--oauth-issuer", " ,"}, "", "--oauth-issuer"},
		{[]string{"--oauth-issuer", login, "--oauth-scopes", ""}, "", "--oauth-scopes"},
		{[]string{"--oauth-issuer", login, "--oauth-audience", ""}, "", "--oauth-audience"},
		{[]string{"--oauth-issuer", login, "--oauth-jwks", ""}, "", "--oauth-jwks"},
		{nil, "MY_NOTES_OAUTH_ISSUER", "MY_NOTES_OAUTH_ISSUER"},
		{[]string{"--oauth-issuer", login}, "MY_NOTES_OAUTH_SCOPES", "MY_NOTES_OAUTH_SCOPES"},
		{[]string{"--oauth-issuer", login}, "MY_NOTES_OAUTH_JWKS", "MY_NOTES_OAUTH_JWKS"},
	} {
		t.Run(strings.Join(append(test.args, test.name), " "), func(t *testing.T) {
			if test.name != "" {
				t.Setenv(test.name, "")
			}
			gate, _, err := serve(t, test.args...).Gate(resource, slog.Default())
			if gate != nil || terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), test.says) {
				t.Errorf("Gate() = %v, %v; want no gate and an error with exit code %d that contains %q", gate, err, terminal.ExitUsage, test.says)
			}
		})
	}
}

// A caller needs a token of the issuer, whether flags or the environment name it.
func TestGate(t *testing.T) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	issuer := httptest.NewServer(mux)
	defer issuer.Close()
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]string{"issuer": issuer.URL, "jwks_uri": issuer.URL + "/jwks"})
	})
	mux.HandleFunc("/jwks", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "one"}}})
	})
	sign := func(audience string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "one"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := json.Marshal(map[string]any{"iss": issuer.URL, "aud": audience, "sub": "ann", "scope": "a b", "exp": time.Now().Add(time.Minute).Unix()})
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign(payload)
		if err != nil {
			t.Fatal(err)
		}
		text, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for _, test := range []struct {
		name      string
		args      []string
		variables map[string]string
		audience  string
	}{
		{"flags", []string{"--oauth-issuer", issuer.URL}, nil, resource},
		{"all flags", []string{"--oauth-issuer", issuer.URL, "--oauth-jwks", issuer.URL + "/jwks", "--oauth-audience", "x", "--oauth-audience", "y", "--oauth-scopes", "a b"}, nil, "y"},
		{"the environment", nil, map[string]string{"ISSUER": "http://127.0.0.1:1, " + issuer.URL, "AUDIENCE": "x,y", "SCOPES": "a b"}, "y"},
		{"flags over the environment", []string{"--oauth-issuer", issuer.URL, "--oauth-scopes", "a"}, map[string]string{"ISSUER": "nonsense", "SCOPES": "c", "JWKS": issuer.URL + "/jwks"}, resource},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.variables {
				t.Setenv("MY_NOTES_OAUTH_"+name, value)
			}
			o := serve(t, test.args...)
			gate, pages, err := o.Gate(resource, slog.Default())
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header.Set("Authorization", "Bearer "+sign(test.audience))
			id, err := gate.Authenticate(r)
			if err != nil || id.Subject != "ann" {
				t.Errorf(`got %v and %v; want no error and Subject "ann"`, id, err)
			}
			r.Header.Set("Authorization", "Bearer "+sign("other"))
			if id, err := gate.Authenticate(r); err == nil || id != nil {
				t.Errorf("a token for another resource: Authenticate() = %v, %v; want nobody and an error", id, err)
			}
			checkPages(t, gate, pages, issuer.URL)
		})
	}
}

// checkPages checks the metadata at both paths.
func checkPages(t *testing.T, gate auth.Gate, pages map[string]http.Handler, issuer string) {
	t.Helper()
	if len(pages) != 2 || !strings.Contains(gate.Challenge("", nil), token.WellKnown+"/mcp") {
		t.Errorf("the pages are %v, and the challenge %s; want two pages, and %s in the challenge", pages, gate.Challenge("", nil), token.WellKnown+"/mcp")
	}
	for _, path := range []string{token.WellKnown, token.WellKnown + "/mcp"} {
		answer := httptest.NewRecorder()
		pages[path].ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		if text := answer.Body.String(); !strings.Contains(text, `"resource":"`+resource+`"`) || !strings.Contains(text, issuer) {
			t.Errorf("%s returned %s; want the resource %q and %q in it", path, text, resource, issuer)
		}
	}
}
