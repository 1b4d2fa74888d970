package auth

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

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
