// Package auth says who calls and whether they may come in: API keys, and what is common to all ways
// of telling. How bearer tokens are checked is in a package of its own below it, which only servers that
// check them link. A server that speaks over standard input and output has no use for any of it: who
// started it is who calls.
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

// A Gate tells who makes an HTTP request.
type Gate interface {
	// Enter returns who makes the request. A nil identity without an error means that the request has no credentials that this gate
	// knows; another gate may. An error is a [*Refusal], or a fault of ours that says nothing about the caller.
	Enter(r *http.Request) (*Identity, error)

	// Challenge is the value of WWW-Authenticate for somebody who has shown nothing that is good (a 401) and, with
	// scopes, for somebody who is known and needs more of them (a 403). why is an error code of RFC 6750,
	// such as invalid_token, or "".
	Challenge(why string, scopes []string) string

	// Wants is what a caller is to send, for people: "a key as X-Api-Token". No secret is in it.
	Wants() string
}

// A Refusal is why somebody may not come in.
type Refusal struct {
	Why     string // an error code of RFC 6750: invalid_token, invalid_request or insufficient_scope
	Message string // what the caller is told; no secret is in it
}

func (e *Refusal) Error() string { return e.Message }

// An Identity is who makes a call, as a [Gate] found out. It is not changed once it is in a context.
type Identity struct {
	Subject string          // who it is, to those who gave the credentials out; "" if they say nothing of it
	Issuer  string          // who says so; "" for a key of this server
	Client  string          // the program that calls on their behalf, if it is known
	Scopes  []string        // what they may do
	All     bool            // they may do everything, whatever the scopes say
	Until   time.Time       // when they have to come with new credentials; zero if these do not end
	Claims  json.RawMessage // all that a token says, as an object; nil if there was none
}

// May reports whether the scopes allow a call that needs all of those given. Where nobody was asked who
// they are, which is a nil identity, everything is allowed.
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

// Principal is a text that is the same for two calls of one caller and different for two callers: what was given to one
// is not to be used by another. It is empty for a nil identity.
func (id *Identity) Principal() string {
	if id == nil {
		return ""
	}
	text, _ := json.Marshal([]string{id.Issuer, id.Subject, id.Client}) // strings, which cannot fail
	return string(text)
}

// identityKey is the key of a context's identity.
type identityKey struct{}

// With returns a context of a call that id makes.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns who makes the call that ctx belongs to, or nil if nobody was asked who they are: over standard input and
// output, or where neither keys nor tokens are in use.
func From(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

// UntilExpiry returns a context that also ends when the credentials of the caller expire.
func UntilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	if id := From(ctx); id != nil && !id.Until.IsZero() {
		return context.WithDeadline(ctx, id.Until)
	}
	return ctx, func() {}
}

// minKey is how many characters a key has at least.
const minKey = 16

// keyGate lets in who shows one of some keys.
type keyGate struct {
	realm string
	keys  []key
}

// A key is what is kept of one: not the key itself.
type key struct {
	sum [sha256.Size]byte
	id  *Identity
}

// Keys returns a gate for those who show one of the keys in list, as X-Api-Token or as Authorization: Bearer. Whoever has one may do
// everything; calls with different keys are those of different callers. There may be several, so that a key can be replaced by
// another while both are good. realm is the name of the server in challenges.
//
// A bearer token that is none of the keys is nothing that this gate knows: it may be one for another gate. No error
// has a key in it.
func Keys(realm string, list []string) (Gate, error) {
	if len(list) == 0 {
		return nil, errors.New("there are no keys; " + makeKey)
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

// makeKey is the way out for those who have no good key.
const makeKey = "make one with: openssl rand -hex 32"

// weakness is why a text is no good as a key, or "".
func weakness(text string) string {
	if text == "" {
		return "is empty"
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return "has white space, control characters or letters beyond ASCII in it"
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

// find returns whose key text is, or nil. How long it takes depends on the length of text alone.
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

// cutBearer returns the token of an Authorization, if it has one.
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

// quote makes a quoted-string of HTTP of a text.
func quote(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// IsScope reports whether a text is a scope as RFC 6749 defines it.
func IsScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
