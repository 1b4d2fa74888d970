package token

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/petrock/petrock/core/auth"
)

const (
	resource = "https://notes.example.com/mcp"
	login    = "https://login.example.com/tenant"
	jwksURL  = "https://keys.example.com/jwks"
)

// rsaKey is shared, because generating one is slow.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// A world is a fake network with an issuer, its metadata and its keys.
type world struct {
	mu    sync.Mutex
	pages map[string]string // by URL
	asked map[string]int
	down  bool
	wait  chan struct{} // answers wait for it, if it is not nil

	silent bool // it never answers
}

// RoundTrip implements [http.RoundTripper].
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	page, found := w.pages[r.URL.String()]
	w.asked[r.URL.String()]++
	down, wait := w.down, w.wait
	w.mu.Unlock()
	if wait != nil {
		<-wait
	}
	answer := httptest.NewRecorder()
	switch {
	case w.silent:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case down:
		return nil, errors.New("the issuer is down")
	case !found:
		answer.WriteHeader(http.StatusNotFound)
	default:
		io.WriteString(answer, page)
	}
	made := answer.Result()
	made.Request = r
	return made, nil
}

// times returns how often a page was requested.
func (w *world) times(url string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked[url]
}

// set changes something.
func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

// publish makes the issuer publish keys.
func (w *world) publish(t testing.TB, keys ...jose.JSONWebKey) {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	w.set(func() { w.pages[jwksURL] = string(text) })
}

// newWorld returns a world whose issuer publishes keys.
func newWorld(t testing.TB, keys ...jose.JSONWebKey) *world {
	w := &world{asked: map[string]int{}, pages: map[string]string{
		"https://login.example.com/.well-known/openid-configuration/tenant": `{"issuer":"` + login + `","jwks_uri":"` + jwksURL + `"}`,
	}}
	w.publish(t, keys...)
	return w
}

// gate returns a gate in the world, with changes to the default options.
func (w *world) gate(t testing.TB, change func(*Options)) *Gate {
	t.Helper()
	o := Options{Resource: resource, Issuers: []string{login}, Client: &http.Client{Transport: w}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A signer makes tokens.
type signer struct {
	alg, kid string
	private  any
}

// newSigner returns a signer with a new key, except for RSA.
func newSigner(t testing.TB, alg, kid string) signer {
	t.Helper()
	var private any
	var err error
	switch alg {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		private, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsaKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return signer{alg, kid, private}
}

// public returns the key as the issuer publishes it.
func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.private.(crypto.Signer).Public(), KeyID: s.kid, Algorithm: s.alg, Use: "sig"}
}

// claimSet returns the claims of a valid token, with changes; nil removes a claim.
func claimSet(changes map[string]any) map[string]any {
	now := time.Now().Unix()
	said := map[string]any{"iss": login, "aud": resource, "sub": "ann", "client_id": "app", "scope": "notes:read notes:write", "exp": now + 600, "iat": now, "nbf": now}
	maps.Copy(said, changes)
	maps.DeleteFunc(said, func(_ string, v any) bool { return v == nil })
	return said
}

// sign makes a token, with changes to its header.
func (s signer) sign(t testing.TB, header, said map[string]any) string {
	t.Helper()
	payload, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	return s.signText(t, header, string(payload))
}

// signText makes a token with a text as its payload.
func (s signer) signText(t testing.TB, header map[string]any, payload string) string {
	t.Helper()
	o := (&jose.SignerOptions{}).WithType("at+jwt")
	if s.kid != "" {
		o.WithHeader("kid", s.kid)
	}
	for name, value := range header {
		if value == nil {
			delete(o.ExtraHeaders, jose.HeaderKey(name))
			continue
		}
		o.WithHeader(jose.HeaderKey(name), value)
	}
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(s.alg), Key: s.private}, o)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := made.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// handmade returns a token as no library makes it. sum signs the part before the last dot.
func handmade(header, payload string, sum func(text string) []byte) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(header)) + "." + b64([]byte(payload))
	return text + "." + b64(sum(text))
}

// withSecret signs with a shared secret.
func withSecret(secret []byte) func(string) []byte {
	return func(text string) []byte {
		sum := hmac.New(sha256.New, secret)
		sum.Write([]byte(text))
		return sum.Sum(nil)
	}
}

// request returns a call with a token.
func request(token string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}"))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r
}

// refusedAs checks that a call was refused with a code and a message.
func refusedAs(t testing.TB, id *auth.Identity, err error, why, message string) {
	t.Helper()
	refusal := (*auth.Refusal)(nil)
	if id != nil || !errors.As(err, &refusal) || refusal.Code != why || !strings.Contains(refusal.Message, message) {
		t.Errorf("got %+v and %v (%T), want nobody and the refusal %s with a message containing %q", id, err, err, why, message)
	}
}
