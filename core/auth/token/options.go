package token

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
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
		if !isScope(scope) {
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

// isScope reports whether a text is a scope, as RFC 6749 has it.
func isScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' })
}
