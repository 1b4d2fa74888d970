// Package token authenticates callers by the bearer tokens of an OAuth 2.1 authorization server. It
// makes the server a resource server. A token is a JWT in the header Authorization. The issuer must
// have signed it, with a key that it publishes, and it must be for this server.
//
// # Checks
//
//   - The signature, by a key of the issuer's JWKS that has the token's kid and is for signatures.
//     Algorithms are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512 and EdDSA. The
//     algorithm none and algorithms with a shared secret are refused. A key that names its
//     algorithm is used only for that one. A token without a kid is accepted if exactly one key of
//     the issuer fits.
//   - iss must be one of the issuers, and aud must contain this server. exp is required. nbf and
//     iat must not be in the future. Clocks may differ by the leeway.
//   - typ of the header must be at+jwt, JWT or missing. ID tokens and refresh tokens are refused
//     even if they are for this server: they have at_hash or c_hash, or say so in token_use or typ.
//   - sub or client_id is required. azp and cid stand in for a missing client_id.
//   - scope or scp, either as a text with spaces or as a list.
//
// # Keys
//
// The keys are where the issuer's metadata says (RFC 8414, or the OpenID configuration), or where
// [Options] say. They are fetched when the first token arrives, and again in the background when
// they are some minutes old. After an hour without calls, the first call waits for them. An unknown
// kid triggers a fetch, at most once every few seconds, so that made-up kids do not load the
// issuer. If the issuer cannot be reached, the cached keys are used for a day.
//
// Tokens are never logged. Only the caller's own handlers see their claims.
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

// Options configure a [Gate].
type Options struct {
	Resource string        // public URL of the MCP endpoint, for which clients request tokens
	Audience []string      // accepted audiences; nil means Resource
	Issuers  []string      // accepted issuers, exactly as in their tokens
	JWKS     string        // URL of the keys of a single issuer; empty means the one in its metadata
	Scopes   []string      // scopes that clients may request, for the metadata
	Required []string      // the scopes that every call needs
	Leeway   time.Duration // how much clocks may differ; 0 means a minute
	Client   *http.Client  // for requests to issuers; nil means a default one. Its redirect policy is not used
	Logger   *slog.Logger  // nil means the default logger
}

// New returns a gate for the tokens of the issuers. It does not contact them yet; see [Gate.Warm].
func New(o Options) (*Gate, error) {
	resource, err := checkURL("the resource", o.Resource)
	if err != nil {
		return nil, err
	}
	switch {
	case len(o.Issuers) == 0:
		return nil, errors.New("no issuer of tokens is set; name one, such as https://login.example.com")
	case o.JWKS != "" && len(o.Issuers) > 1:
		return nil, fmt.Errorf("%s has the keys of one issuer, and there are %d issuers; leave it out to find the keys in their metadata", o.JWKS, len(o.Issuers))
	case slices.Contains(o.Audience, ""):
		return nil, errors.New("an audience is empty; set it, or leave it out to use the public URL")
	case o.Leeway < 0:
		return nil, fmt.Errorf("leeway %v is negative; use 0 or more", o.Leeway)
	}
	for _, scope := range slices.Concat(o.Scopes, o.Required) {
		if !auth.IsScope(scope) {
			return nil, fmt.Errorf("%q is not a scope; use printable ASCII characters without spaces, quotes and backslashes", scope)
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

// checkURL parses a URL that is safe to fetch and to send to clients: with https, or on this
// machine.
func checkURL(what, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("%s is %q; it must be an absolute URL without user, query and fragment, such as https://login.example.com", what, text)
	case !isSafe(u):
		return nil, fmt.Errorf("%s is %q; it must start with https; http is only for this machine", what, text)
	}
	return u, nil
}

// maxToken is the size limit of a token.
const maxToken = 16 << 10

// A Gate authenticates callers by bearer tokens. It implements [auth.Gate].
type Gate struct {
	resource string
	page     string // path of the metadata
	metadata []byte
	audience []string
	required []string
	leeway   time.Duration
	log      *slog.Logger
	issuers  map[string]*issuer // by name
}

// Enter implements [auth.Gate]. It ignores credentials that are not a JWT, because they may be an
// API key. If the error is not an [*auth.Refusal], the keys of the issuer could not be fetched, and
// the token could not be checked.
func (g *Gate) Enter(r *http.Request) (*auth.Identity, error) {
	text, err := bearer(r)
	if err != nil || text == "" {
		return nil, err
	}
	id, err := g.enter(r.Context(), text)
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		g.log.Debug("token refused", "why", refusal.Message) // the message contains nothing of the token
	}
	return id, err
}

// enter returns the identity of a token.
func (g *Gate) enter(ctx context.Context, text string) (*auth.Identity, error) {
	t, err := parse(text)
	if err != nil || t == nil {
		return nil, err
	}
	from, ok := g.issuers[t.issuer()]
	if !ok {
		return nil, invalid("the token is from an unknown issuer")
	}
	payload, err := from.verify(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.identify(from.name, payload, time.Now())
}

// Warm fetches the keys of all issuers, so that the first call need not wait, and a wrong issuer is
// noticed early.
func (g *Gate) Warm(ctx context.Context) error {
	var errs []error
	for _, from := range g.issuers {
		errs = append(errs, from.refresh(ctx))
	}
	return errors.Join(errs...)
}

// bearer returns the token of a request, empty if it has none.
func bearer(r *http.Request) (string, error) {
	if r.URL != nil && strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token") {
		return "", &auth.Refusal{Why: "invalid_request", Message: "tokens in URLs are not safe; send it in the header Authorization, and revoke this one"}
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", &auth.Refusal{Why: "invalid_request", Message: "there is more than one Authorization header; send one"}
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

// invalid returns the refusal of a token.
func invalid(message string) error { return &auth.Refusal{Why: "invalid_token", Message: message} }

// insufficient is the error code for an identified caller that lacks scopes.
const insufficient = "insufficient_scope"

// Challenge implements [auth.Gate]. It names the metadata, where clients find the issuers, and the
// scopes to ask for: those that every call needs, and those given.
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

// describeError returns the description of an error code, empty if the code says it all.
func describeError(why string) string {
	if why == "invalid_token" {
		return "the token is not valid for this server, or has expired"
	}
	return ""
}

// parameter returns a parameter of a challenge, empty without a value.
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

// A document is the metadata of a server (RFC 9728).
type document struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
}

// describe returns the metadata as JSON.
func describe(o Options) ([]byte, error) {
	d := document{Resource: o.Resource, Servers: o.Issuers, Methods: []string{"header"}}
	for _, scope := range slices.Concat(o.Required, o.Scopes) {
		// Whether a client gets a refresh token is between it and the issuer.
		if scope != "offline_access" && !slices.Contains(d.Scopes, scope) {
			d.Scopes = append(d.Scopes, scope)
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode the metadata of %s: %w", o.Resource, err)
	}
	return text, nil
}

// pageOf returns the path of the metadata of a resource.
func pageOf(resource *url.URL) string {
	return WellKnown + strings.TrimSuffix(resource.Path, "/")
}

// metadataURL returns the URL of the metadata.
func (g *Gate) metadataURL() string {
	u, err := url.Parse(g.resource)
	if err != nil {
		return "" // New has parsed it
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: g.page}).String()
}

// Metadata returns the page that tells clients the issuers of this server, and its path. Clients
// that do not find it there look at [WellKnown] itself.
func (g *Gate) Metadata() (path string, h http.Handler) {
	return g.page, http.HandlerFunc(g.serveMetadata)
}

// serveMetadata serves the metadata. It is public: scripts of any origin may read it.
func (g *Gate) serveMetadata(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // preflight of a script that sends a header such as MCP-Protocol-Version
		head.Set("Access-Control-Allow-Methods", "GET, HEAD")
		head.Set("Access-Control-Allow-Headers", "*")
		head.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		head.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "this page is read-only", http.StatusMethodNotAllowed)
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
