// Package auth authenticates the callers of an HTTP server. It checks API keys, and defines the types
// that all kinds of credentials share. Package token checks OAuth bearer tokens. Over stdio, callers
// are not authenticated: the caller is the user who started the server.
package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Gate authenticates the callers of HTTP requests.
type Gate interface {
	// Authenticate returns the caller. A nil identity without an error means that the request has no
	// credentials of this gate's kind; another gate may accept it. If the gate rejects the
	// credentials, the error is a [*Refusal]. Any other error means that it could not check them.
	Authenticate(r *http.Request) (*Identity, error)

	// Challenge returns the WWW-Authenticate header for a caller without valid credentials (401) or,
	// with scopes, for an authenticated caller that lacks these scopes (403). code is an error code
	// of RFC 6750, such as invalid_token, or empty.
	Challenge(code string, scopes []string) string

	// Credentials describes the credentials to send, such as "a key as X-Api-Token".
	Credentials() string
}

// A Refusal means that a gate rejected the credentials.
type Refusal struct {
	Code    string // an error code of RFC 6750: invalid_token, invalid_request or insufficient_scope
	Message string // for the caller; contains no secret
}

func (e *Refusal) Error() string { return e.Message }

// An Identity is an authenticated caller. It must not be changed once it is in a context.
type Identity struct {
	Subject   string          // the caller's id at the issuer; may be empty
	Issuer    string          // issuer of the token; empty for an API key
	Client    string          // id of the calling program, if known
	Scopes    []string        // granted scopes
	AllScopes bool            // scopes do not apply: the caller may do everything
	Expires   time.Time       // when the credentials expire; zero if never
	Claims    json.RawMessage // claims of the token, as a JSON object; nil for an API key
	Name      string          // replaces the subject in Actor, if the subject is not unique
}

// May reports whether the identity has all of the scopes. A nil identity, which means that callers
// are not authenticated, may do everything.
func (id *Identity) May(scopes ...string) bool {
	lacks := func(scope string) bool { return !slices.Contains(id.Scopes, scope) }
	return id == nil || id.AllScopes || !slices.ContainsFunc(scopes, lacks)
}

// Principal returns a unique id of the caller, for access checks. It is the same for all calls of a
// caller, and empty for a nil identity.
func (id *Identity) Principal() string {
	if id == nil {
		return ""
	}
	text, _ := json.Marshal([]string{id.Issuer, id.Subject, id.Client}) // cannot fail
	return string(text)
}

// Actor returns the name of the caller in event logs: the subject of a token, or the name of an API key.
// It is the same for all programs of a user, and differs between the users of a server.
func (id *Identity) Actor() string { return cmp.Or(id.Name, id.Subject, id.Client) }

// IsReservedActor reports whether a name may be that of another kind of actor: of an API key, a local
// user, a worker, a program without a user, or a user of another issuer.
func IsReservedActor(name string) bool {
	for _, prefix := range []string{"anonymous", "client:", "key-", "local:", "worker:"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.Contains(name, "@http")
}

type identityKey struct{}

// With returns a copy of ctx with the caller id.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the caller in ctx. It is nil if callers are not authenticated, as over stdio.
func From(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

// UntilExpiry returns a context that also ends when the caller's credentials expire.
func UntilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	if id := From(ctx); id != nil && !id.Expires.IsZero() {
		return context.WithDeadline(ctx, id.Expires)
	}
	return ctx, func() {}
}

const minKeyLength = 16

type keyGate struct {
	realm string
	keys  []key
}

// A key is the hash of an API key, with its identity.
type key struct {
	sum [sha256.Size]byte
	id  *Identity
}

// Keys returns a gate that accepts the API keys in list, as X-Api-Token or as Authorization: Bearer.
// Each key is a separate caller. API keys bypass scopes. realm is the name of the server in
// challenges.
//
// The gate ignores a bearer token that is not one of the keys, because it may be for another gate.
// Errors never contain a key.
func Keys(realm string, list []string) (Gate, error) {
	if len(list) == 0 {
		return nil, errors.New("no API keys are set; " + keyRemedy)
	}
	g := &keyGate{realm: realm}
	for i, text := range list {
		if reason := weakness(text); reason != "" {
			name := "the key"
			if len(list) > 1 {
				name = fmt.Sprintf("key %d of %d", i+1, len(list))
			}
			return nil, fmt.Errorf("%s %s; %s", name, reason, keyRemedy)
		}
		sum := sha256.Sum256([]byte(text))
		g.keys = append(g.keys, key{sum, &Identity{Subject: "key-" + hex.EncodeToString(sum[:4]), AllScopes: true}})
	}
	return g, nil
}

const keyRemedy = "generate a key with openssl rand -hex 32"

// weakness returns why a text cannot be a key, or "".
func weakness(text string) string {
	if text == "" {
		return "is empty"
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return "has white space, control characters or non-ASCII characters"
		}
	}
	if len(text) < minKeyLength {
		return fmt.Sprintf("has %d characters, fewer than %d", len(text), minKeyLength)
	}
	return ""
}

func (g *keyGate) Authenticate(r *http.Request) (*Identity, error) {
	tokens, bearers := r.Header["X-Api-Token"], r.Header["Authorization"]
	if len(tokens) > 1 || len(bearers) > 1 {
		return nil, &Refusal{"invalid_request", "send X-Api-Token or Authorization once"}
	}
	bearer, hasBearer := CutBearer(r.Header.Get("Authorization"))
	switch {
	case len(tokens) == 0 && !hasBearer:
		return nil, nil
	case len(tokens) == 0:
		return g.find(bearer), nil
	case hasBearer && subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(bearer)) == 0:
		return nil, &Refusal{"invalid_request", "X-Api-Token and Authorization differ; send one of them"}
	}
	id := g.find(tokens[0])
	if id == nil {
		return nil, &Refusal{"invalid_token", "invalid API key"}
	}
	return id, nil
}

// find returns the identity of a key, or nil. It takes constant time for texts of the same length.
func (g *keyGate) find(text string) *Identity {
	sum := sha256.Sum256([]byte(text))
	found := -1
	for i := range g.keys {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(g.keys[i].sum[:], sum[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return g.keys[found].id
}

// CutBearer returns the token of an Authorization header, and whether its scheme is Bearer.
func CutBearer(value string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.Trim(token, " "), true
}

func (g *keyGate) Challenge(code string, scopes []string) string {
	text := "Bearer realm=" + quoteString(g.realm)
	if code != "" {
		text += ", error=" + quoteString(code)
	}
	if len(scopes) > 0 {
		text += ", scope=" + quoteString(strings.Join(scopes, " "))
	}
	return text
}

func (g *keyGate) Credentials() string { return "a key as X-Api-Token or as Authorization: Bearer" }

func quoteString(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// IsScope reports whether a text is a valid scope of RFC 6749.
func IsScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
