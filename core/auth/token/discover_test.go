package token

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

// The URLs of issuer metadata are those of the MCP specification.
func TestPlaces(t *testing.T) {
	for name, want := range map[string][]string{
		"https://a.example.com":       {"https://a.example.com/.well-known/oauth-authorization-server", "https://a.example.com/.well-known/openid-configuration"},
		"https://a.example.com/":      {"https://a.example.com/.well-known/oauth-authorization-server", "https://a.example.com/.well-known/openid-configuration"},
		"https://a.example.com:1/b/c": {"https://a.example.com:1/.well-known/oauth-authorization-server/b/c", "https://a.example.com:1/.well-known/openid-configuration/b/c", "https://a.example.com:1/b/c/.well-known/openid-configuration"},
		"https://a.example.com/b/":    {"https://a.example.com/.well-known/oauth-authorization-server/b", "https://a.example.com/.well-known/openid-configuration/b", "https://a.example.com/b/.well-known/openid-configuration"},
	} {
		g, err := New(Options{Resource: resource, Issuers: []string{name}})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.issuers[name].metadataURLs(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestDiscover(t *testing.T) {
	s := newSigner(t, "ES256", "one")
	places := []string{
		"https://login.example.com/.well-known/oauth-authorization-server/tenant",
		"https://login.example.com/.well-known/openid-configuration/tenant",
		"https://login.example.com/tenant/.well-known/openid-configuration",
	}
	good := `{"issuer":"` + login + `","jwks_uri":"` + jwksURL + `"}`
	for _, test := range []struct {
		name string
		page [3]string
		say  string // of the error
	}{
		{"the first", [3]string{good}, ""},
		{"the last", [3]string{"", "", good}, ""},
		{"another's before it", [3]string{`{"issuer":"https://login.example.com","jwks_uri":"https://evil.example.com"}`, good}, ""},
		{"none", [3]string{}, "status 404"},
		{"another's alone", [3]string{`{"issuer":"` + login + `/","jwks_uri":"` + jwksURL + `"}`}, "exactly as in its metadata"},
		{"no issuer", [3]string{`{"jwks_uri":"` + jwksURL + `"}`}, "exactly as in its metadata"},
		{"no keys", [3]string{`{"issuer":"` + login + `"}`}, "unsafe jwks_uri"},
		{"keys without https", [3]string{`{"issuer":"` + login + `","jwks_uri":"http://keys.example.com/jwks"}`}, "unsafe jwks_uri"},
		{"keys on this machine", [3]string{`{"issuer":"` + login + `","jwks_uri":"http://127.0.0.1/jwks"}`}, "unsafe jwks_uri"},
		{"keys in a file", [3]string{`{"issuer":"` + login + `","jwks_uri":"file:///etc/passwd"}`}, "unsafe jwks_uri"},
		{"invalid JSON", [3]string{`<html>`}, "invalid character"},
		{"much", [3]string{good + strings.Repeat(" ", maxPage)}, "larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, s.public())
			for i, page := range test.page {
				delete(w.pages, places[i])
				if page != "" {
					w.pages[places[i]] = page
				}
			}
			err := w.gate(t, nil).Prefetch(t.Context())
			if (err == nil) != (test.say == "") || err != nil && (!strings.Contains(err.Error(), test.say) || !strings.Contains(err.Error(), login)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Invalid keys and keys for other uses are left out.
func TestReadKeys(t *testing.T) {
	e, r := newSigner(t, "ES256", "ec"), newSigner(t, "RS256", "rsa")
	change := func(key jose.JSONWebKey, members string) string {
		text, err := key.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return "{" + members + string(text[1:])
	}
	plain := jose.JSONWebKey{Key: e.public().Key, KeyID: "plain"}
	private, err := jose.JSONWebKey{Key: e.private, KeyID: "private"}.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		text, ids, say string
	}{
		{`{"keys":[` + change(e.public(), "") + `,` + change(r.public(), "") + `]}`, "ec rsa", ""},
		{`{"keys":[` + change(plain, `"use":"enc",`) + `]}`, "", ""},
		{`{"keys":[` + change(plain, `"key_ops":["encrypt"],`) + `]}`, "", ""},
		{`{"keys":[` + change(plain, `"key_ops":["verify"],"x5c":["nonsense"],"use":"sig",`) + `]}`, "plain", ""},
		{`{"keys":[` + change(plain, `"alg":"ECDH-ES",`) + `]}`, "", ""},
		{`{"keys":[` + string(private) + `]}`, "private", ""}, // its public half; the issuer has other worries
		{`{"keys":[{"kty":"oct","k":"AAAA","kid":"secret"},{"kty":"new"},{"kty":"EC","crv":"P-256"},7,{"kty":7},{}]}`, "", ""},
		{`{"keys":[{"kty":"RSA","n":"` + strings.Repeat("A", 4) + `","e":"AQAB","kid":"small"}]}`, "", ""},
		{`{"keys":[{"kty":"RSA","n":"_` + strings.Repeat("A", 170) + `","e":"AQAB","kid":"1024"}]}`, "", ""},
		{`{"keys":[]}`, "", ""},
		{`{}`, "", "not a JWKS"},
		{`[]`, "", "cannot unmarshal"},
		{`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`, "", "101 keys"},
	} {
		set, err := parseKeys([]byte(test.text))
		if test.say != "" {
			if err == nil || !strings.Contains(err.Error(), test.say) {
				t.Errorf("%.60s: got %v; want an error containing %q", test.text, err, test.say)
			}
			continue
		}
		var ids []string
		if err != nil {
			t.Errorf("%.60s: %v", test.text, err)
			continue
		}
		for _, k := range set.keys {
			ids = append(ids, k.id)
		}
		if got := strings.Join(ids, " "); got != test.ids {
			t.Errorf("the keys of %.60q are %q, want %q", test.text, got, test.ids)
		}
	}
}

// An issuer on this machine needs no https. Its redirects are checked.
func TestRedirects(t *testing.T) {
	s := newSigner(t, "EdDSA", "one")
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{s.public()}})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(w http.ResponseWriter, r *http.Request) { w.Write(keys) }
	elsewhere := httptest.NewServer(http.HandlerFunc(serve))
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/keys", serve)
	mux.Handle("/here", http.RedirectHandler("/keys", http.StatusFound))
	mux.Handle("/there", http.RedirectHandler(elsewhere.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	here := httptest.NewServer(mux)
	defer here.Close()
	for path, say := range map[string]string{"/keys": "", "/here": "", "/there": "another host", "/round": "too many redirects", "/none": "status 404"} {
		w := newWorld(t)
		g := w.gate(t, func(o *Options) { o.Issuers, o.JWKS, o.Client = []string{here.URL}, here.URL+path, nil })
		err := g.Prefetch(t.Context())
		if (err == nil) != (say == "") || err != nil && !strings.Contains(err.Error(), say) {
			t.Errorf("%s: got %v, want an error that contains %q, or none if that is empty", path, err, say)
		}
		if id, err := g.Authenticate(request(s.sign(t, nil, claimSet(map[string]any{"iss": here.URL})))); (err == nil && id != nil) != (say == "") {
			t.Errorf("%s: Authenticate() = %+v, %v; want it accepted: %t", path, id, err, say == "")
		}
	}
	secure := httptest.NewTLSServer(http.RedirectHandler(here.URL+"/keys", http.StatusFound))
	defer secure.Close()
	w := newWorld(t)
	g := w.gate(t, func(o *Options) { o.JWKS, o.Client = secure.URL, secure.Client() })
	if err := g.Prefetch(t.Context()); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf(`from https to http: got %v; want an error containing "another host"`, err)
	}
}
