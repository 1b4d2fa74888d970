// Package token authenticates callers by the bearer tokens of an OAuth 2.1 authorization server,
// the issuer. A token is a JWT in the Authorization header. The issuer must have signed it with a
// key that it publishes, and the audience must be this server.
//
// # Checks
//
//   - The signature must be by a key of the issuer's JWKS that has the token's kid and is for
//     signatures. Accepted algorithms are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384,
//     ES512 and EdDSA. The algorithm none and algorithms with a shared secret are refused. A key
//     with an alg is used only for that algorithm. A token without a kid is accepted if exactly one
//     key of the issuer supports its algorithm.
//   - iss must be one of the issuers, and aud must contain this server. exp is required. nbf and
//     iat must not be in the future. Clocks may differ by a minute.
//   - typ in the header must be at+jwt, JWT or missing. ID tokens and refresh tokens are refused;
//     they are recognized by the claims at_hash, c_hash, token_use and typ.
//   - sub or client_id is required. azp or cid replaces a missing client_id.
//   - scope and scp are optional: a string with spaces, or a list.
//
// # Keys
//
// The URL of the keys comes from [Options] or from the issuer's metadata (RFC 8414 or OpenID
// Connect Discovery). The keys are fetched for the first token, and again in the background when
// they are older than 15 minutes. After an hour without calls, the next call waits for new keys. An
// unknown kid triggers a fetch, but at most every 10 seconds. If the issuer cannot be reached,
// cached keys are used for up to a day.
//
// Tokens are never logged.
package token

import (
	"cmp"
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
	Resource string       // public URL of the MCP endpoint
	Audience []string     // accepted audiences (default: Resource)
	Issuers  []string     // accepted issuers, exactly as in their tokens
	JWKS     string       // URL of the keys of a single issuer (default: from its metadata)
	Required []string     // scopes that every call requires; published in the metadata
	Client   *http.Client // for requests to issuers, without its CheckRedirect and Jar (optional)
	Logger   *slog.Logger // default: slog.Default()
}

// New returns a gate for the tokens of the issuers. It does not contact them; see [Gate.Prefetch].
// The actors of all issuers but the first end with @ISSUER.
func New(o Options) (*Gate, error) {
	resource, err := checkURL("resource", o.Resource)
	if err != nil {
		return nil, err
	}
	switch {
	case len(o.Issuers) == 0:
		return nil, errors.New("no issuer is set; set one, such as https://login.example.com")
	case o.JWKS != "" && len(o.Issuers) > 1:
		return nil, fmt.Errorf("JWKS %s is for one issuer, but %d are set; omit it to find the keys in the metadata of each issuer", o.JWKS, len(o.Issuers))
	case slices.Contains(o.Audience, ""):
		return nil, errors.New("an audience is empty; set it, or omit it to use the public URL")
	}
	for _, scope := range o.Required {
		if !auth.IsScope(scope) {
			return nil, fmt.Errorf("invalid scope %q; use printable ASCII characters without spaces, quotes and backslashes", scope)
		}
	}
	if o.JWKS != "" {
		if _, err := checkURL("JWKS", o.JWKS); err != nil {
			return nil, err
		}
	}
	g := &Gate{
		// RFC 9728
		metadataURL: &url.URL{Scheme: resource.Scheme, Host: resource.Host, Path: WellKnown + strings.TrimSuffix(resource.Path, "/")},
		audience:    o.Audience,
		required:    slices.Clone(o.Required),
		log:         cmp.Or(o.Logger, slog.Default()),
		issuers:     map[string]*issuer{},
		first:       o.Issuers[0],
	}
	if len(g.audience) == 0 {
		g.audience = []string{o.Resource}
	}
	for _, name := range o.Issuers {
		u, err := checkURL("issuer", name)
		if err != nil {
			return nil, err
		}
		g.issuers[name] = &issuer{name: name, url: u, jwks: o.JWKS, client: restrictRedirects(o.Client), log: g.log}
	}
	g.metadata = encodeMetadata(o)
	return g, nil
}

// checkURL parses a URL, which must use https or name this machine.
func checkURL(option, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || strings.ContainsAny(text, "?#"):
		return nil, fmt.Errorf("invalid %s %q: must be an absolute URL without user, query and fragment, such as https://login.example.com", option, text)
	case !isSafe(u):
		return nil, fmt.Errorf("invalid %s %q: must use https; http is only allowed for this machine", option, text)
	}
	return u, nil
}

const (
	maxToken = 16 << 10    // bytes
	leeway   = time.Minute // allowed difference of clocks
)

// A Gate authenticates callers by bearer tokens. It implements [auth.Gate].
type Gate struct {
	metadataURL *url.URL
	metadata    []byte
	audience    []string
	required    []string
	log         *slog.Logger
	issuers     map[string]*issuer // by name
	first       string             // name of the first issuer
}

// Authenticate implements [auth.Gate]. It ignores credentials that are not a JWT, because they may
// be an API key. If the error is not an [*auth.Refusal], the keys of the issuer could not be
// fetched.
func (g *Gate) Authenticate(r *http.Request) (*auth.Identity, error) {
	text, err := bearerToken(r)
	if err != nil || text == "" {
		return nil, err
	}
	id, err := g.verifyToken(r.Context(), text)
	if refusal, ok := errors.AsType[*auth.Refusal](err); ok {
		g.log.Debug("token refused", "error", refusal.Message)
	}
	return id, err
}

func (g *Gate) verifyToken(ctx context.Context, text string) (*auth.Identity, error) {
	t, err := parse(text)
	if err != nil || t == nil {
		return nil, err
	}
	iss, ok := g.issuers[claimedIssuer(t)]
	if !ok {
		return nil, errInvalid("the token is from an unknown issuer")
	}
	payload, err := iss.verify(ctx, t)
	if err != nil {
		return nil, err
	}
	return g.identify(iss.name, payload, time.Now())
}

// Prefetch fetches the keys of all issuers, so that the first call does not wait for them.
func (g *Gate) Prefetch(ctx context.Context) error {
	var errs []error
	for _, iss := range g.issuers {
		_, err := iss.newerKeys(ctx, nil)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func bearerToken(r *http.Request) (string, error) {
	if r.URL != nil && strings.Contains(r.URL.RawQuery, "access_token") && r.URL.Query().Has("access_token") {
		return "", &auth.Refusal{Code: "invalid_request", Message: "tokens in URLs are not safe; revoke this one, and send tokens in the Authorization header"}
	}
	given := r.Header.Values("Authorization")
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 {
		return "", &auth.Refusal{Code: "invalid_request", Message: "more than one Authorization header; send one"}
	}
	text, _ := auth.CutBearer(given[0])
	if len(text) > maxToken {
		return "", errInvalid(fmt.Sprintf("the token is longer than %d bytes", maxToken))
	}
	return text, nil
}

func errInvalid(message string) error { return &auth.Refusal{Code: "invalid_token", Message: message} }

const insufficientScope = "insufficient_scope"

// Challenge implements [auth.Gate]. It contains the URL of the metadata, and the scopes to request:
// those that every call requires, and the given ones.
func (g *Gate) Challenge(code string, scopes []string) string {
	needed := slices.Clone(g.required)
	for _, scope := range scopes {
		if auth.IsScope(scope) && !slices.Contains(needed, scope) {
			needed = append(needed, scope)
		}
	}
	if len(scopes) > 0 && code == "" {
		code = insufficientScope
	}
	description := ""
	if code == "invalid_token" {
		description = "the token is not valid for this server, or has expired"
	}
	metadata := challengeParam("resource_metadata", g.metadataURL.String())
	scope := challengeParam("scope", strings.Join(needed, " "))
	params := []string{metadata, scope, challengeParam("error", code), challengeParam("error_description", description)}
	if code == insufficientScope {
		params = []string{challengeParam("error", code), scope, metadata}
	}
	return "Bearer " + strings.Join(slices.DeleteFunc(params, func(p string) bool { return p == "" }), ", ")
}

// Credentials implements [auth.Gate].
func (g *Gate) Credentials() string {
	return "a token of " + strings.Join(slices.Sorted(maps.Keys(g.issuers)), " or ") + " as Authorization: Bearer"
}

// challengeParam returns a parameter of a challenge, or "" if value is empty.
func challengeParam(name, value string) string {
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

// encodeMetadata returns the metadata of a protected resource (RFC 9728).
func encodeMetadata(o Options) []byte {
	d := struct {
		Resource string   `json:"resource"`
		Servers  []string `json:"authorization_servers"`
		Scopes   []string `json:"scopes_supported,omitempty"`
		Methods  []string `json:"bearer_methods_supported"`
	}{Resource: o.Resource, Servers: o.Issuers, Methods: []string{"header"}}
	for _, scope := range o.Required {
		// offline_access is a matter between client and issuer, not a scope of this resource.
		if scope != "offline_access" && !slices.Contains(d.Scopes, scope) {
			d.Scopes = append(d.Scopes, scope)
		}
	}
	text, _ := json.Marshal(d) // strings always encode
	return text
}

// Metadata returns a handler for the protected-resource metadata (RFC 9728), and its path. Some
// clients look for it at [WellKnown] instead.
func (g *Gate) Metadata() (path string, h http.Handler) {
	return g.metadataURL.Path, http.HandlerFunc(g.serveMetadata)
}

// serveMetadata serves the metadata. It is public, so scripts of any origin may read it.
func (g *Gate) serveMetadata(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Access-Control-Allow-Origin", "*")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodOptions: // CORS preflight
		head.Set("Access-Control-Allow-Methods", "GET, HEAD")
		head.Set("Access-Control-Allow-Headers", "*")
		head.Set("Access-Control-Max-Age", "86400")
		w.WriteHeader(http.StatusNoContent)
		return
	default:
		head.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "method not allowed; send GET", http.StatusMethodNotAllowed)
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
