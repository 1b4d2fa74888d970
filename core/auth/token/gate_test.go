package token

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/petrock/petrock/core/auth"
)

// All asymmetric algorithms are accepted, and the claims become the identity.
func TestEnter(t *testing.T) {
	for _, alg := range algorithms() {
		s := newSigner(t, string(alg), "one")
		w := newWorld(t, s.public())
		said := claimSet(nil)
		id, err := w.gate(t, nil).Authenticate(request(s.sign(t, nil, said)))
		if err != nil {
			t.Errorf("%s: %v", alg, err)
			continue
		}
		claims := id.Claims
		if left := time.Until(id.Expires); left > 11*time.Minute || left < 10*time.Minute { // the leeway is a minute
			t.Errorf("%s: it expires in %v, want 10m to 11m", alg, left)
		}
		id.Claims, id.Expires = nil, time.Time{}
		if want := (&auth.Identity{Subject: "ann", Issuer: login, Client: "app", Scopes: []string{"notes:read", "notes:write"}}); !reflect.DeepEqual(id, want) {
			t.Errorf("%s: got %+v, want %+v", alg, id, want)
		}
		var raw map[string]any
		if err := json.Unmarshal(claims, &raw); err != nil || raw["sub"] != "ann" || raw["scope"] != "notes:read notes:write" {
			t.Errorf(`%s: the claims are %s (%v); want sub "ann" and scope "notes:read notes:write"`, alg, claims, err)
		}
	}
}

// A token that expires in the far future is accepted.
func TestNoEnd(t *testing.T) {
	s := newSigner(t, "EdDSA", "one")
	w := newWorld(t, s.public())
	for _, end := range []float64{1 << 37, 1e18, 1e300} {
		id, err := w.gate(t, nil).Authenticate(request(s.sign(t, nil, claimSet(map[string]any{"exp": end}))))
		if err != nil || !id.Expires.IsZero() {
			t.Errorf("%v: got %+v and %v; want an identity that does not expire, and no error", end, id, err)
		}
	}
}

// Other valid tokens.
func TestGoodTokens(t *testing.T) {
	s := newSigner(t, "ES256", "one")
	w := newWorld(t, s.public())
	now := time.Now().Unix()
	for _, test := range []struct {
		name    string
		header  map[string]any
		claims  map[string]any
		subject string
		client  string
		scopes  string
	}{
		{"typ JWT", map[string]any{"typ": "JWT"}, nil, "ann", "app", "notes:read notes:write"},
		{"typ in capitals", map[string]any{"typ": "AT+JWT"}, nil, "ann", "app", "notes:read notes:write"},
		{"typ in full", map[string]any{"typ": "application/at+jwt"}, nil, "ann", "app", "notes:read notes:write"},
		{"no typ", map[string]any{"typ": nil}, nil, "ann", "app", "notes:read notes:write"},
		{"several audiences", nil, map[string]any{"aud": []string{"https://other.example.com", resource}}, "ann", "app", "notes:read notes:write"},
		{"scp", nil, map[string]any{"scope": nil, "scp": "a b"}, "ann", "app", "a b"},
		{"scp as a list", nil, map[string]any{"scope": nil, "scp": []string{"a", "b", "a"}}, "ann", "app", "a b"},
		{"scope as a list", nil, map[string]any{"scope": []string{"a", "b c"}}, "ann", "app", "a b c"},
		{"scope and scp", nil, map[string]any{"scope": "a", "scp": []string{"b"}}, "ann", "app", "a b"},
		{"odd spaces", nil, map[string]any{"scope": "  a  b "}, "ann", "app", "a b"},
		{"no scopes", nil, map[string]any{"scope": nil}, "ann", "app", ""},
		{"null scopes", nil, map[string]any{"scope": json.RawMessage("null")}, "ann", "app", ""},
		{"azp", nil, map[string]any{"client_id": nil, "azp": "party"}, "ann", "party", "notes:read notes:write"},
		{"cid", nil, map[string]any{"client_id": nil, "cid": "c"}, "ann", "c", "notes:read notes:write"},
		{"a program on its own", nil, map[string]any{"sub": nil}, "", "app", "notes:read notes:write"},
		{"neither nbf nor iat", nil, map[string]any{"nbf": nil, "iat": nil}, "ann", "app", "notes:read notes:write"},
		{"within the leeway", nil, map[string]any{"exp": now - 50, "nbf": now + 50, "iat": now + 50}, "ann", "app", "notes:read notes:write"},
		{"fractions", nil, map[string]any{"exp": float64(now) + 60.5}, "ann", "app", "notes:read notes:write"},
		{"Keycloak", nil, map[string]any{"typ": "Bearer"}, "ann", "app", "notes:read notes:write"},
		{"Cognito", nil, map[string]any{"token_use": "access"}, "ann", "app", "notes:read notes:write"},
		{"more than is looked at", map[string]any{"jku": "https://evil.example.com"}, map[string]any{"roles": []any{1, map[string]any{"a": nil}}}, "ann", "app", "notes:read notes:write"},
	} {
		t.Run(test.name, func(t *testing.T) {
			id, err := w.gate(t, nil).Authenticate(request(s.sign(t, test.header, claimSet(test.claims))))
			if err != nil {
				t.Fatal(err)
			}
			if id.Subject != test.subject || id.Client != test.client || strings.Join(id.Scopes, " ") != test.scopes {
				t.Errorf("the identity is %+v, want subject %q, client %q and scopes %q", id, test.subject, test.client, test.scopes)
			}
		})
	}
}

// Claims with which a token is refused.
func TestBadClaims(t *testing.T) {
	s := newSigner(t, "EdDSA", "one")
	w := newWorld(t, s.public())
	now := time.Now().Unix()
	for _, test := range []struct {
		name, why, message string
		header, claims     map[string]any
	}{
		{"wrong audience", "invalid_token", "another server", nil, map[string]any{"aud": "https://other.example.com/mcp"}},
		{"longer audience", "invalid_token", "another server", nil, map[string]any{"aud": resource + "/"}},
		{"no audience", "invalid_token", "another server", nil, map[string]any{"aud": nil}},
		{"empty audience", "invalid_token", "another server", nil, map[string]any{"aud": []string{}}},
		{"audience that is none", "invalid_token", "claims of the token are malformed", nil, map[string]any{"aud": 7}},
		{"audiences that are none", "invalid_token", "claims of the token are malformed", nil, map[string]any{"aud": []any{resource, 7}}},
		{"wrong issuer", "invalid_token", "unknown issuer", nil, map[string]any{"iss": "https://evil.example.com"}},
		{"longer issuer", "invalid_token", "unknown issuer", nil, map[string]any{"iss": login + "/"}},
		{"no issuer", "invalid_token", "unknown issuer", nil, map[string]any{"iss": nil}},
		{"issuer that is none", "invalid_token", "unknown issuer", nil, map[string]any{"iss": []string{login}}},
		{"expired", "invalid_token", "expired", nil, map[string]any{"exp": now - 61}},
		{"no expiry", "invalid_token", "no expiry", nil, map[string]any{"exp": nil}},
		{"expiry that is none", "invalid_token", "claims of the token are malformed", nil, map[string]any{"exp": "never"}},
		{"not yet", "invalid_token", "not valid yet", nil, map[string]any{"nbf": now + 62}},
		{"from the future", "invalid_token", "not valid yet", nil, map[string]any{"iat": now + 62}},
		{"an ID token by its hash", "invalid_token", "not an access token", nil, map[string]any{"at_hash": "x"}},
		{"an ID token by its code", "invalid_token", "not an access token", nil, map[string]any{"c_hash": "x"}},
		{"an ID token of Cognito", "invalid_token", "not an access token", nil, map[string]any{"token_use": "id"}},
		{"an ID token of Keycloak", "invalid_token", "not an access token", nil, map[string]any{"typ": "ID"}},
		{"a refresh token", "invalid_token", "not an access token", nil, map[string]any{"typ": "Refresh"}},
		{"another type", "invalid_token", "not that of an access token", map[string]any{"typ": "dpop+jwt"}, nil},
		{"a type that is none", "invalid_token", "not that of an access token", map[string]any{"typ": 7}, nil},
		{"something critical", "invalid_token", "critical headers", map[string]any{"crit": []string{"x"}, "x": 1}, nil},
		{"no caller", "invalid_token", "neither sub nor client_id", nil, map[string]any{"sub": nil, "client_id": nil}},
		{"scopes that are none", "invalid_token", "claims of the token are malformed", nil, map[string]any{"scope": 7}},
		{"a scope is missing", "insufficient_scope", "notes:read", nil, map[string]any{"scope": "notes:write"}},
		{"part of a scope", "insufficient_scope", "notes:read", nil, map[string]any{"scope": "notes:read2"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := w.gate(t, func(o *Options) { o.Required = []string{"notes:read"} })
			id, err := g.Authenticate(request(s.sign(t, test.header, claimSet(test.claims))))
			refusedAs(t, id, err, test.why, test.message)
		})
	}
}

// Tokens that the issuer has not signed.
func TestForgedTokens(t *testing.T) {
	r, e, other := newSigner(t, "RS256", "rsa"), newSigner(t, "ES256", "ec"), newSigner(t, "ES256", "ec")
	encryption := newSigner(t, "RS256", "enc").public()
	encryption.Use = "enc"
	w := newWorld(t, r.public(), e.public(), encryption)
	text, err := json.Marshal(claimSet(nil))
	if err != nil {
		t.Fatal(err)
	}
	payload := string(text)
	good := e.signText(t, nil, payload)
	der, err := x509.MarshalPKIXPublicKey(r.public().Key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	jwk, err := r.public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	nothing := func(string) []byte { return nil }
	embedded := other
	embedded.kid = ""
	for name, token := range map[string]string{
		"none":                      handmade(`{"alg":"none","kid":"rsa"}`, payload, nothing),
		"None":                      handmade(`{"alg":"None","kid":"rsa"}`, payload, nothing),
		"no algorithm":              handmade(`{"kid":"rsa"}`, payload, nothing),
		"HS256 with the PEM":        handmade(`{"alg":"HS256","kid":"rsa"}`, payload, withSecret(public)),
		"HS256 with the DER":        handmade(`{"alg":"HS256","kid":"rsa"}`, payload, withSecret(der)),
		"HS256 with the JWK":        handmade(`{"alg":"HS256","kid":"rsa"}`, payload, withSecret(jwk)),
		"HS256 said to be RS256":    handmade(`{"alg":"RS256","kid":"rsa"}`, payload, withSecret(public)),
		"another key of that kid":   other.signText(t, nil, payload),
		"an unknown kid":            newSigner(t, "ES256", "gone").signText(t, nil, payload),
		"the kid of another key":    signer{"ES256", "rsa", e.private}.signText(t, nil, payload),
		"another algorithm":         signer{"RS512", "rsa", r.private}.signText(t, nil, payload),
		"PS256 for RS256":           signer{"PS256", "rsa", r.private}.signText(t, nil, payload),
		"a key for encryption":      signer{"RS256", "enc", r.private}.signText(t, nil, payload),
		"a key that it brings":      embedded.signText(t, map[string]any{"jwk": jose.JSONWebKey{Key: other.public().Key}}, payload),
		"changed claims":            parts[0] + "." + strings.Split(other.signText(t, nil, strings.Replace(payload, "ann", "bob", 1)), ".")[1] + "." + parts[2],
		"changed header":            strings.Split(e.signText(t, map[string]any{"typ": "JWT"}, payload), ".")[0] + "." + parts[1] + "." + parts[2],
		"no signature":              parts[0] + "." + parts[1] + ".",
		"half a signature":          good[:len(good)-40],
		"no claims":                 parts[0] + ".." + parts[2],
		"base64 with padding":       good + "==",
		"a header that is not JSON": handmade(`hello`, payload, nothing),
		"a header that is a list":   handmade(`[1]`, payload, nothing),
		"an algorithm twice":        handmade(`{"alg":"ES256","alg":"none","kid":"ec"}`, payload, nothing),
		"dots alone":                "..",
		"claims that are no JSON":   e.signText(t, nil, "hello"),
		"claims that are a list":    e.signText(t, nil, "[]"),
		"claims that are null":      e.signText(t, nil, "null"),
		"an issuer twice":           e.signText(t, nil, `{"iss":"https://evil.example.com",`+payload[1:]),
		"an audience twice":         e.signText(t, nil, `{"aud":"`+resource+`",`+payload[1:]),
		"a claim in capitals":       e.signText(t, nil, strings.Replace(payload, `"aud"`, `"AUD"`, 1)),
		"claims that are no UTF-8":  e.signText(t, nil, strings.Replace(payload, "ann", "\xff", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			id, err := w.gate(t, nil).Authenticate(request(token))
			refusedAs(t, id, err, "invalid_token", "")
		})
	}
}

// A token without a kid is accepted if only one key fits.
func TestWithoutKID(t *testing.T) {
	e, r := newSigner(t, "ES256", ""), newSigner(t, "RS256", "rsa")
	again := newSigner(t, "ES256", "two")
	w := newWorld(t, e.public(), r.public())
	if id, err := w.gate(t, nil).Authenticate(request(e.sign(t, nil, claimSet(nil)))); err != nil || id.Subject != "ann" {
		t.Errorf(`with one key that fits, got %v and %v; want no error and Subject "ann"`, id, err)
	}
	w.publish(t, e.public(), r.public(), again.public())
	id, err := w.gate(t, nil).Authenticate(request(e.sign(t, nil, claimSet(nil))))
	refusedAs(t, id, err, "invalid_token", "not signed")
}

// Where a token may be, and credentials that this gate ignores.
func TestCredentials(t *testing.T) {
	s := newSigner(t, "ES256", "one")
	w := newWorld(t, s.public())
	g := w.gate(t, nil)
	good := s.sign(t, nil, claimSet(nil))
	for name, given := range map[string][]string{
		"nothing":        nil,
		"empty":          {""},
		"another scheme": {"Basic YTpi"},
		"no token":       {"Bearer"},
		"an API key":     {"Bearer 0123456789abcdef"},
		"an opaque one":  {"Bearer a.b"},
		"four dots":      {"Bearer a.b.c.d.e"},
		"no scheme":      {good},
	} {
		r := request("")
		r.Header["Authorization"] = given
		if id, err := g.Authenticate(r); id != nil || err != nil {
			t.Errorf("%s: Authenticate() = %v, %v; want nobody and no error", name, id, err)
		}
	}
	for _, given := range []string{"bearer " + good, "BEARER  " + good, "Bearer " + good + " "} {
		r := request("")
		r.Header.Set("Authorization", given)
		if id, err := g.Authenticate(r); err != nil || id.Subject != "ann" {
			t.Errorf(`%.10s: got %v and %v; want no error and Subject "ann"`, given, id, err)
		}
	}
	twice := request(good)
	twice.Header.Add("Authorization", "Bearer "+good)
	id, err := g.Authenticate(twice)
	refusedAs(t, id, err, "invalid_request", "more than one Authorization header")

	for _, token := range []string{"", good} { // alone, and next to a good one
		query := request(token)
		query.URL.RawQuery = "access_token=" + good
		id, err = g.Authenticate(query)
		refusedAs(t, id, err, "invalid_request", "URL")
	}

	id, err = g.Authenticate(request(good + strings.Repeat("A", maxToken)))
	refusedAs(t, id, err, "invalid_token", "longer")
	id, err = g.Authenticate(request(good + "," + good))
	if id != nil {
		t.Errorf("Authenticate() of a list = %+v, %v; want no identity", id, err)
	}
	if n := w.times(jwksURL); n != 1 {
		t.Errorf("the keys were fetched %d times, want 1", n)
	}
}

// Logs contain nothing of a token.
func TestTokensAreNotLogged(t *testing.T) {
	s, other := newSigner(t, "ES256", "the-kid"), newSigner(t, "ES256", "the-kid")
	w := newWorld(t, s.public())
	var log bytes.Buffer
	g := w.gate(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	for _, token := range []string{
		s.sign(t, nil, claimSet(nil)), other.sign(t, nil, claimSet(nil)), s.sign(t, nil, claimSet(map[string]any{"aud": "the-audience"})),
		s.sign(t, nil, claimSet(map[string]any{"exp": 1})), handmade(`{"alg":"none"}`, "{}", func(string) []byte { return nil }),
	} {
		g.Authenticate(request(token))
		for part := range strings.SplitSeq(token, ".") {
			if part != "" && strings.Contains(log.String(), part) {
				t.Errorf("the log has %s:\n%s", part, &log)
			}
		}
	}
	for _, word := range []string{"ann", "the-kid", "the-audience"} {
		if strings.Contains(log.String(), word) {
			t.Errorf("the log is %q, want it without %q", log.String(), word)
		}
	}
	if !strings.Contains(log.String(), "expired") {
		t.Errorf(`the log is %q, want it to contain "expired"`, log.String())
	}
}

// Each issuer has its own keys, and cannot sign for another.
func TestSeveralIssuers(t *testing.T) {
	a, b := newSigner(t, "ES256", "one"), newSigner(t, "ES256", "one")
	const second = "https://second.example.com/"
	w := newWorld(t, a.public())
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{b.public()}})
	if err != nil {
		t.Fatal(err)
	}
	w.pages["https://second.example.com/.well-known/oauth-authorization-server"] = `{"issuer":"` + second + `","jwks_uri":"https://second.example.com/keys"}`
	w.pages["https://second.example.com/keys"] = string(text)
	g := w.gate(t, func(o *Options) { o.Issuers = append(o.Issuers, second) })
	if err := g.Prefetch(context.Background()); err != nil {
		t.Error(err)
	}
	ofSecond := claimSet(map[string]any{"iss": second})
	if id, err := g.Authenticate(request(b.sign(t, nil, ofSecond))); err != nil || id.Issuer != second {
		t.Errorf("got %v and %v; want no error and Issuer %q", id, err, second)
	}
	id, err := g.Authenticate(request(a.sign(t, nil, ofSecond)))
	refusedAs(t, id, err, "invalid_token", "not signed")
	id, err = g.Authenticate(request(b.sign(t, nil, claimSet(nil))))
	refusedAs(t, id, err, "invalid_token", "not signed")
}

// Concurrent calls while the issuer's keys change.
func TestTogether(t *testing.T) {
	one, two := newSigner(t, "EdDSA", "one"), newSigner(t, "EdDSA", "two")
	w := newWorld(t, one.public(), two.public())
	g := w.gate(t, nil)
	tokens := []string{one.sign(t, nil, claimSet(nil)), two.sign(t, nil, claimSet(nil)), newSigner(t, "EdDSA", "three").sign(t, nil, claimSet(nil))}
	var all sync.WaitGroup
	for i := range 24 {
		all.Go(func() {
			for range 20 {
				id, err := g.Authenticate(request(tokens[i%3]))
				if (i%3 < 2) != (id != nil && err == nil) {
					t.Errorf("token %d: Authenticate() = %+v, %v; want it accepted: %t", i, id, err, i%3 < 2)
				}
				g.Challenge("invalid_token", []string{"a"})
			}
		})
	}
	all.Wait()
	if n := w.times(jwksURL); n > 2 {
		t.Errorf("the keys were fetched %d times, want at most 2", n)
	}
}

// No input makes it panic, and no token is accepted that the issuer has not signed.
func FuzzEnter(f *testing.F) {
	s := newSigner(f, "EdDSA", "one")
	other := newSigner(f, "EdDSA", "one")
	w := newWorld(f, s.public())
	g := w.gate(f, nil)
	forged := other.sign(f, nil, claimSet(nil))
	f.Add("Bearer "+forged, "")
	f.Add("Bearer "+forged+"x", "access_token="+forged)
	f.Add("Bearer "+handmade(`{"alg":"none","kid":"one"}`, `{"iss":"`+login+`"}`, func(string) []byte { return nil }), "")
	f.Add("Bearer "+handmade(`{"alg":"EdDSA","kid":"one","crit":["b64"],"b64":false}`, `{"iss":"`+login+`"}`, withSecret([]byte("x"))), "a=b")
	f.Add("Bearer ..", "")
	f.Add("bearer a.b.c", "%zz")
	f.Add("Basic x", "access_token")
	f.Fuzz(func(t *testing.T, header, query string) {
		r := &http.Request{Method: http.MethodPost, URL: httptest.NewRequest(http.MethodPost, "/mcp", nil).URL, Header: http.Header{"Authorization": {header}}}
		r.URL.RawQuery = query
		if id, err := g.Authenticate(r); id != nil {
			t.Errorf("%q: Authenticate() = %+v, %v; want no identity", header, id, err)
		}
	})
}

// The subject of the first issuer is the actor. Other actors are qualified, so that no two callers
// have the same.
func TestActors(t *testing.T) {
	s := newSigner(t, "EdDSA", "one")
	w := newWorld(t, s.public())
	const other = "https://other.example.com"
	w.pages[other+"/.well-known/openid-configuration"] = `{"issuer":"` + other + `","jwks_uri":"` + jwksURL + `"}`
	g := w.gate(t, func(o *Options) { o.Issuers = append(o.Issuers, other) })
	for _, test := range []struct {
		claims map[string]any
		want   string
	}{
		{nil, "ann"},
		{map[string]any{"sub": nil}, "client:app"},
		{map[string]any{"sub": "local:ann"}, "local:ann@" + login},
		{map[string]any{"sub": "key-12345678"}, "key-12345678@" + login},
		{map[string]any{"sub": "ann@" + other}, "ann@" + other + "@" + login},
		{map[string]any{"iss": other}, "ann@" + other},
		{map[string]any{"iss": other, "sub": nil}, "client:app@" + other},
	} {
		id, err := g.Authenticate(request(s.sign(t, nil, claimSet(test.claims))))
		if err != nil || id.Actor() != test.want {
			t.Errorf("%v: the actor is %+v, want %s: %v", test.claims, id, test.want, err)
		}
	}
}
