package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

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
