// Package token tells who calls by the bearer tokens of an OAuth 2.1 authorization server: it makes a server a resource
// server. A token is a JWT, in the header Authorization and nowhere else. It has to be signed by the issuer, with a key that
// the issuer publishes, and has to be for this server.
//
// # What is looked at
//
//   - The signature, by a key of the issuer's JWKS that has the token's kid and is one for signatures. Algorithms are
//     RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA; none and those with a shared secret
//     are not taken, whatever the keys say, and a key that names its algorithm is used for that one alone. A token without a
//     kid is taken if the issuer has one key alone that it may be signed with.
//   - iss, which is one of the issuers; aud, which has this server in it; exp, which has to be there; nbf and iat, which
//     are not in the future. Clocks may differ by the leeway.
//   - typ of the header: at+jwt, JWT or nothing. A token that is clearly another kind is refused, even if it is for this
//     server: an ID token or a refresh token, which have at_hash or c_hash, or say so in token_use or typ.
//   - sub or client_id: a token that names nobody is refused. azp and cid stand for a client_id that is not there.
//   - scope or scp, either of which is a text with spaces or a list.
//
// # Keys
//
// The keys are where the issuer's metadata says (RFC 8414, or the OpenID configuration), or where [Options] say. They are
// fetched when the first token comes, and again beside the calls when they are some minutes old; after an hour without calls, the
// first one waits for them. A kid that is not known has them fetched at once, but not again and again: whoever makes kids up does
// not make us a burden to the issuer. If the issuer cannot be reached, the keys that are there are used for a day.
//
// Tokens are never logged, nor is anything of them told to anybody but the caller's own handlers.
package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/auth"
)

// Options are what a [Gate] is made from.
type Options struct {
	Resource string        // the public URL of the MCP endpoint, which clients ask tokens for
	Audience []string      // what tokens have to be for, one of them; nil means Resource
	Issuers  []string      // who may give tokens out, exactly as their tokens say it
	JWKS     string        // the URL of the keys; "" means what the issuer's metadata says. For a single issuer
	Scopes   []string      // what clients may ask for, for the metadata
	Required []string      // the scopes that every call needs
	Leeway   time.Duration // how much clocks may differ; 0 means a minute
	Client   *http.Client  // for asking the issuers; nil means a usual one. What it says of redirects is not used
	Logger   *slog.Logger  // nil means the default one
}

// New is a gate for the tokens of the issuers. It asks them nothing yet; see [Gate.Warm].
func New(o Options) (*Gate, error) {
	resource, err := checkURL("the resource", o.Resource)
	if err != nil {
		return nil, err
	}
	switch {
	case len(o.Issuers) == 0:
		return nil, errors.New("there is no issuer of tokens; name one, such as https://login.example.com")
	case o.JWKS != "" && len(o.Issuers) > 1:
		return nil, fmt.Errorf("%s are the keys of one issuer, and there are %d; leave it out, and they are found through the issuers' metadata", o.JWKS, len(o.Issuers))
	case slices.Contains(o.Audience, ""):
		return nil, errors.New("an audience is empty, and so may be that of tokens for nobody; say what tokens have to be for, or leave it out for the resource")
	case o.Leeway < 0:
		return nil, fmt.Errorf("clocks cannot differ by %v; give a leeway of 0 or more", o.Leeway)
	}
	for _, scope := range slices.Concat(o.Scopes, o.Required) {
		if !auth.IsScope(scope) {
			return nil, fmt.Errorf("%q is no scope: printable characters of ASCII make one, but for spaces, quotes and backslashes", scope)
		}
	}
	if o.JWKS != "" {
		if _, err := checkURL("the URL of the keys", o.JWKS); err != nil {
			return nil, err
		}
	}
	g := &Gate{
		resource: o.Resource,
		page:     pageOf(resource),
		audience: o.Audience,
		required: slices.Clone(o.Required),
		leeway:   o.Leeway,
		log:      o.Logger,
		issuers:  map[string]*issuer{},
	}
	if len(g.audience) == 0 {
		g.audience = []string{o.Resource}
	}
	if g.leeway == 0 {
		g.leeway = time.Minute
	}
	if g.log == nil {
		g.log = slog.Default()
	}
	for _, name := range o.Issuers {
		u, err := checkURL("the issuer", name)
		if err != nil {
			return nil, err
		}
		g.issuers[name] = &issuer{name: name, url: u, jwks: o.JWKS, client: guarded(o.Client), log: g.log}
	}
	g.metadata, err = describe(o)
	return g, err
}

// checkURL is a URL that is safe to ask, and to send people to: with https, or on this machine.
func checkURL(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("%s is %q; it has to be a whole URL without user, query and fragment, such as https://login.example.com", what, text)
	case !isSafe(u):
		return nil, fmt.Errorf("%s is %q; it has to begin with https, as anybody on the way could change what is read there; http is for this machine alone", what, text)
	}
	return u, nil
}

// maxToken is how long a token may be.
const maxToken = 16 << 10

// A Gate tells who calls by a bearer token. It implements [auth.Gate].
type Gate struct {
	resource string
	page     string // the path of the metadata
	metadata []byte
	audience []string
	required []string
	leeway   time.Duration
	log      *slog.Logger
	issuers  map[string]*issuer // by name
}

// Enter implements [auth.Gate]. What is no JWT is no credentials that this gate knows: it may be the key of another. An error
// that is no [*auth.Refusal] says that the keys of an issuer cannot be had, and with it, nothing can be said of the token.
func (g *Gate) Enter(r *http.Request) (*auth.Identity, error) {
	text, err := bearer(r)
	if err != nil || text == "" {
		return nil, err
	}
	id, err := g.enter(r.Context(), text)
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		g.log.Debug("a token was refused", "why", refusal.Message) // which has nothing of the token in it
	}
	return id, err
}

// enter returns whom a token is about.
func (g *Gate) enter(ctx context.Context, text string) (*auth.Identity, error) {
	t, err := parse(text)
	if err != nil || t == nil {
		return nil, err
	}
	from, ok := g.issuers[t.issuer()]
	if !ok {
		return nil, invalid("the token is from an issuer that is not known here")
	}
	payload, err := from.verify(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.identify(from.name, payload, time.Now())
}

// Warm fetches the keys of all issuers, so that the first call need not wait, and a wrong issuer is seen at once.
func (g *Gate) Warm(ctx context.Context) error {
	var errs []error
	for _, from := range g.issuers {
		errs = append(errs, from.refresh(ctx))
	}
	return errors.Join(errs...)
}

// bearer is the token of a request, "" if it has none.
func bearer(r *http.Request) (string, error) {
	if r.URL != nil && strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token") {
		return "", &auth.Refusal{Why: "invalid_request", Message: "a token does not belong into a URL, where others see it; send it in the header Authorization, and have this one revoked"}
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", &auth.Refusal{Why: "invalid_request", Message: "there are several headers Authorization; send one"}
	}
	scheme, text, _ := strings.Cut(given[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", nil
	}
	text = strings.Trim(text, " ")
	if len(text) > maxToken {
		return "", invalid(fmt.Sprintf("the token is longer than %d bytes", maxToken))
	}
	return text, nil
}

// invalid is why a token is not taken.
func invalid(message string) error { return &auth.Refusal{Why: "invalid_token", Message: message} }

// insufficient is why somebody who is known may not come in.
const insufficient = "insufficient_scope"

// Challenge implements [auth.Gate]. It names the metadata, where clients find who gives tokens out, and the scopes to ask for:
// those that every call needs and, with those given, all that the call in hand needs.
func (g *Gate) Challenge(why string, scopes []string) string {
	need := slices.Clone(g.required)
	for _, scope := range scopes {
		if auth.IsScope(scope) && !slices.Contains(need, scope) {
			need = append(need, scope)
		}
	}
	if len(scopes) > 0 && why == "" {
		why = insufficient
	}
	where := parameter("resource_metadata", g.metadataURL())
	which := parameter("scope", strings.Join(need, " "))
	all := []string{where, which, parameter("error", why), parameter("error_description", describeError(why))}
	if why == insufficient {
		all = []string{parameter("error", why), which, where}
	}
	return "Bearer " + strings.Join(slices.DeleteFunc(all, func(p string) bool { return p == "" }), ", ")
}

// Wants implements [auth.Gate].
func (g *Gate) Wants() string {
	return "a token of " + strings.Join(slices.Sorted(maps.Keys(g.issuers)), " or ") + " as Authorization: Bearer"
}

// describeError is an error code for people, "" if it says all there is to say.
func describeError(why string) string {
	if why == "invalid_token" {
		return "the token is not good for this server, or not any more"
	}
	return ""
}

// parameter is a parameter of a challenge, "" for one that has no value.
func parameter(name, value string) string {
	if value == "" {
		return ""
	}
	return name + `="` + strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return -1
		}
		return r
	}, value) + `"`
}

// WellKnown is the path below which clients look for the metadata of a server.
const WellKnown = "/.well-known/oauth-protected-resource"

// A document is the metadata of a server, as RFC 9728 has it.
type document struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
}

// describe is the metadata as it is served.
func describe(o Options) ([]byte, error) {
	d := document{Resource: o.Resource, Servers: o.Issuers, Methods: []string{"header"}}
	for _, scope := range slices.Concat(o.Required, o.Scopes) {
		// Whether a client gets a token that lasts is between it and the issuer.
		if scope != "offline_access" && !slices.Contains(d.Scopes, scope) {
			d.Scopes = append(d.Scopes, scope)
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("writing the metadata of %s: %w", o.Resource, err)
	}
	return text, nil
}

// pageOf is the path of the metadata of a resource.
func pageOf(resource *url.URL) string {
	return WellKnown + strings.TrimSuffix(resource.Path, "/")
}

// metadataURL is where clients find the metadata.
func (g *Gate) metadataURL() string {
	u, err := url.Parse(g.resource)
	if err != nil {
		return "" // New has read it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: g.page}).String()
}

// Metadata is the page that tells clients who gives tokens out for this server, and its path. Clients that do not find it
// there look at [WellKnown] itself.
func (g *Gate) Metadata() (path string, h http.Handler) {
	return g.page, http.HandlerFunc(g.serveMetadata)
}

// serveMetadata answers with the metadata, which is no secret: scripts of any origin may read it.
func (g *Gate) serveMetadata(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // what browsers ask first, if a script sends a header such as MCP-Protocol-Version
		head.Set("Access-Control-Allow-Methods", "GET, HEAD")
		head.Set("Access-Control-Allow-Headers", "*")
		head.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		head.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "this page is for reading", http.StatusMethodNotAllowed)
		return
	}
	head.Set("Content-Type", "application/json")
	head.Set("Cache-Control", "public, max-age=3600")
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Content-Length", strconv.Itoa(len(g.metadata)))
	if r.Method == http.MethodGet {
		w.Write(g.metadata)
	}
}
