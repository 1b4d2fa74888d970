// Package auth authenticates the callers of an HTTP server.
//
//	keys, err := auth.Keys("hello", []string{"alice=" + key})
//	err = mcphttp.Serve(ctx, handler, mcphttp.ServeOptions{Gates: []auth.Gate{keys}})
//
// A [Gate] checks the credentials of a request, and returns the [Identity] of the caller. A
// [KeyGate] is the gate for API keys, from a list or from a file that [AddKey] and [RevokeKeys]
// change. Package token has the gate for OAuth bearer tokens. A tool gets the caller with [From],
// and the server refuses a tool whose scopes the caller lacks. Over stdio, callers are not
// authenticated: the caller is the user who started the server.
package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Gate authenticates the callers of HTTP requests.
type Gate interface {
	// Authenticate returns the caller. A nil identity without an error means that the request has
	// no credentials of this gate's kind; another gate may accept it. If the gate rejects the
	// credentials, the error is a [*Refusal]. Any other error means that it could not check them.
	Authenticate(r *http.Request) (*Identity, error)

	// Challenge returns the WWW-Authenticate header for a caller without valid credentials (401)
	// or, with scopes, for an authenticated caller that lacks these scopes (403). code is an error
	// code of RFC 6750, such as invalid_token, or empty.
	Challenge(code string, scopes []string) string

	// Credentials describes the credentials to send, such as "a key as X-Api-Token".
	Credentials() string
}

// A Refusal means that a gate rejected the credentials.
type Refusal struct {
	Code    string // of RFC 6750: invalid_token, invalid_request or insufficient_scope
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

	valid  context.Context // ends when the API key is revoked; nil for a token
	revoke func()
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

// Actor returns the name of the caller in event logs: the subject of a token, or the name of an API
// key. It is the same for all programs of a user, and differs between the users of a server.
func (id *Identity) Actor() string { return cmp.Or(id.Name, id.Subject, id.Client) }

// IsReservedActor reports whether a name may be that of another kind of actor: of an API key, a
// local user, a worker, a program without a user, or a user of another issuer. A gate of your own
// must not return an identity with such a name.
func IsReservedActor(name string) bool {
	reserved := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return slices.ContainsFunc([]string{"anonymous", "client:", "key-", "local:", "worker:"}, reserved) || strings.Contains(name, "@http")
}

type identityKey struct{}

// With returns a copy of ctx with the caller id. Serve does that after a gate; use it in tests, and
// if your own HTTP server authenticates callers.
func With(ctx context.Context, id *Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// From returns the caller in ctx. It is nil if callers are not authenticated, as over stdio.
func From(ctx context.Context) *Identity {
	id, _ := ctx.Value(identityKey{}).(*Identity)
	return id
}

// UntilExpiry returns a context that also ends when the caller's credentials expire or are revoked.
// Use it for work that must not outlive them, such as a stream.
func UntilExpiry(ctx context.Context) (context.Context, context.CancelFunc) {
	switch id := From(ctx); {
	case id != nil && id.valid != nil:
		ctx, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(id.valid, cancel)
		return ctx, func() { stop(); cancel() }
	case id != nil && !id.Expires.IsZero():
		return context.WithDeadline(ctx, id.Expires)
	}
	return ctx, func() {}
}

// IsScope reports whether a text is a valid scope of RFC 6749. Use it to check configuration.
func IsScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
