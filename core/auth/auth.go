// Package auth identifies the callers of an HTTP server. It has API keys, and the types that all
// kinds of credentials share. Package token checks bearer tokens; only servers that use them link
// it. Over standard input and output there is no authentication: the caller is the user who started
// the server.
package auth

import (
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

// A Gate identifies the caller of an HTTP request.
type Gate interface {
	// Enter returns the caller. A nil identity without an error means that the request has no
	// credentials of this gate's kind; another gate may know them. An error is a [*Refusal], or an
	// internal error that says nothing about the caller.
	Enter(r *http.Request) (*Identity, error)

	// Challenge returns the value of WWW-Authenticate: for a caller without valid credentials (401)
	// and, with scopes, for an identified caller that needs more scopes (403). why is an error code
	// of RFC 6750, such as invalid_token, or empty.
	Challenge(why string, scopes []string) string

	// Wants describes the credentials to send, such as "a key as X-Api-Token". It contains no
	// secret.
	Wants() string
}

// A Refusal is the reason why a gate rejects credentials.
type Refusal struct {
	Why     string // an error code of RFC 6750: invalid_token, invalid_request or insufficient_scope
	Message string // for the caller; contains no secret
}

func (e *Refusal) Error() string { return e.Message }

// An Identity is the caller as identified by a [Gate]. It must not be changed once it is in a
// context.
type Identity struct {
	Subject string          // who calls, as the issuer names them; empty if the issuer does not say
	Issuer  string          // issuer of the token; empty for a key of this server
	Client  string          // program that calls on their behalf, if known
	Scopes  []string        // granted scopes
	All     bool            // scopes do not apply
	Until   time.Time       // when the credentials expire; zero if never
	Claims  json.RawMessage // all claims of a token, as a JSON object; nil without a token
}

// May reports whether the identity has all of the scopes. A nil identity, which means that callers
// are not authenticated, may do everything.
func (id *Identity) May(scopes ...string) bool {
	if id == nil || id.All {
		return true
	}
	for _, scope := range scopes {
		if !slices.Contains(id.Scopes, scope) {
			return false
		}
	}
	return true
}

// Principal returns a text that identifies the caller, so that one caller cannot use what belongs
// to another. It is the same for all calls of a caller, and empty for a nil identity.
func (id *Identity) Principal() string {
	if id == nil {
		return ""
	}
	text, _ := json.Marshal([]string{id.Issuer, id.Subject, id.Client}) // strings cannot fail
	return string(text)
}

type identityKey struct{}

// With returns a context for a call by id.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the caller of the call that ctx belongs to. It is nil if callers are not
// authenticated: over standard input and output, and without keys and tokens.
func From(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

// UntilExpiry returns a context that also ends when the caller's credentials expire.
func UntilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	if id := From(ctx); id != nil && !id.Until.IsZero() {
		return context.WithDeadline(ctx, id.Until)
	}
	return ctx, func() {}
}

// minKey is the minimum length of a key.
const minKey = 16

type keyGate struct {
	realm string
	keys  []key
}

// A key is the hash of an API key, with its identity.
type key struct {
	sum [sha256.Size]byte
	id  *Identity
}

// Keys returns a gate that accepts the keys in list, as X-Api-Token or as Authorization: Bearer.
// Keys bypass scopes. Each key is a caller of its own. Several keys can be valid at once, so that a
// key can be replaced. realm is the name of the server in challenges.
//
// The gate ignores a bearer token that is not one of the keys, because it may be for another gate.
// Errors never contain a key.
func Keys(realm string, list []string) (Gate, error) {
	if len(list) == 0 {
		return nil, errors.New("no keys are set; " + makeKey)
	}
	g := &keyGate{realm: realm}
	for i, text := range list {
		if reason := weakness(text); reason != "" {
			return nil, fmt.Errorf("key %d of %d %s; %s", i+1, len(list), reason, makeKey)
		}
		sum := sha256.Sum256([]byte(text))
		g.keys = append(g.keys, key{sum, &Identity{Subject: "key-" + hex.EncodeToString(sum[:4]), All: true}})
	}
	return g, nil
}

// makeKey is the remedy for a missing or weak key.
const makeKey = "make one with: openssl rand -hex 32"

// weakness returns why a text cannot be a key, or an empty string.
func weakness(text string) string {
	if text == "" {
		return "is empty"
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return "has white space, control characters or non-ASCII characters"
		}
	}
	if len(text) < minKey {
		return fmt.Sprintf("has %d characters, fewer than %d", len(text), minKey)
	}
	return ""
}

// Enter implements [Gate].
func (g *keyGate) Enter(r *http.Request) (*Identity, error) {
	tokens, bearers := r.Header["X-Api-Token"], r.Header["Authorization"]
	if len(tokens) > 1 || len(bearers) > 1 {
		return nil, &Refusal{"invalid_request", "send X-Api-Token or Authorization once"}
	}
	bearer, shown := "", false
	if len(bearers) == 1 {
		bearer, shown = cutBearer(bearers[0])
	}
	if len(tokens) == 0 {
		if !shown {
			return nil, nil
		}
		return g.find(bearer), nil
	}
	if shown && subtle.ConstantTimeCompare([]byte(tokens[0]), []byte(bearer)) == 0 {
		return nil, &Refusal{"invalid_request", "X-Api-Token and Authorization differ; send one of them"}
	}
	id := g.find(tokens[0])
	if id == nil {
		return nil, &Refusal{"invalid_token", "the key is not one of this server's"}
	}
	return id, nil
}

// find returns the identity of a key, or nil. Its duration depends only on the length of text.
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

// cutBearer returns the token of an Authorization header, if it has one.
func cutBearer(value string) (token string, ok bool) {
	scheme, token, ok := strings.Cut(value, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.Trim(token, " "), true
}

// Challenge implements [Gate].
func (g *keyGate) Challenge(why string, scopes []string) string {
	text := "Bearer realm=" + quote(g.realm)
	if why != "" {
		text += ", error=" + quote(why)
	}
	if len(scopes) > 0 {
		text += ", scope=" + quote(strings.Join(scopes, " "))
	}
	return text
}

// Wants implements [Gate].
func (g *keyGate) Wants() string { return "a key as X-Api-Token or as Authorization: Bearer" }

func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// IsScope reports whether a text is a scope as RFC 6749 defines it.
func IsScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
