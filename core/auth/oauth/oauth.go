// Package oauth is what a server has that takes the bearer tokens of an OAuth 2.1 authorization server: the flags that say whose, and
// the gate that checks them. It is in use where an issuer is named.
package oauth

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/auth/token"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
)

// OAuth is the tokens that a program takes. It is an extension of the server, and a gatekeeper.
type OAuth struct {
	program                   string
	issuers, audience, scopes []string
	jwks                      string
}

// New is the tokens of a program.
func New(program string) *OAuth { return &OAuth{program: program} }

// Flags adds what says whose tokens are taken, to the command that serves over HTTP. Over standard input and output there
// are no tokens.
func (o *OAuth) Flags(cmd *cobra.Command) {
	if cmd.Name() != "serve" {
		return
	}
	cmd.Long += `

Where an issuer is named, with --oauth-issuer or ` + o.variable("issuer") + `, its bearer tokens (OAuth 2.1) are asked for, or a
key. They have to be for --public-url, and for the address it listens on without that.`
	cmd.Example += "\n  " + o.program + " serve --oauth-issuer https://login.example.com --public-url https://mcp.example.com/mcp"
	flags := cmd.Flags()
	flags.StringArrayVar(&o.issuers, "oauth-issuer", nil, "who gives tokens out, such as https://login.example.com, exactly as tokens say it (may be repeated); or "+o.variable("issuer"))
	flags.StringVar(&o.jwks, "oauth-jwks", "", "URL of the issuer's keys, if its metadata does not say it; or "+o.variable("jwks"))
	flags.StringArrayVar(&o.audience, "oauth-audience", nil, "what tokens have to be for, instead of the public URL (may be repeated); or "+o.variable("audience"))
	flags.StringArrayVar(&o.scopes, "oauth-scopes", nil, "scopes that every call needs, beside those of a tool (may be repeated); or "+o.variable("scopes"))
}

// Commands are none.
func (o *OAuth) Commands() []*cobra.Command { return nil }

// Way says how tokens are asked for.
func (o *OAuth) Way() string {
	return "name the issuer of tokens with --oauth-issuer or " + o.variable("issuer") + " to ask for them"
}

// Open has nothing to offer.
func (o *OAuth) Open(context.Context, *mcp.Server, *slog.Logger) (end func() error, err error) {
	return func() error { return nil }, nil
}

// Gate is the gate for tokens that are for resource, the public URL of the server, and the pages that tell clients where to get
// one. Without an issuer there is none. The issuer is asked for its keys meanwhile, and log is told what is wrong with it.
func (o *OAuth) Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error) {
	given, err := o.options(resource)
	if err != nil {
		return nil, nil, err
	}
	if len(given.Issuers) == 0 {
		if given.JWKS != "" || given.Audience != nil || given.Required != nil {
			return nil, nil, terminal.Usagef("it is said what tokens have to be like, and not who gives them out; name the issuer with --oauth-issuer, or with the environment variable %s", o.variable("issuer"))
		}
		return nil, nil, nil
	}
	if resource == "" {
		return nil, nil, terminal.Usagef("tokens are for an address, and this server does not know what clients call it by; say it with --public-url, such as --public-url https://mcp.example.com/mcp")
	}
	given.Logger = log
	made, err := token.New(given)
	if err != nil {
		return nil, nil, &terminal.UsageError{Err: err}
	}
	go made.Warm(context.Background()) // which logs what is wrong, and ends by itself
	path, page := made.Metadata()
	return made, map[string]http.Handler{path: page, token.WellKnown: page}, nil
}

// options are what flags and the environment say of tokens that are for resource.
func (o *OAuth) options(resource string) (given token.Options, err error) {
	given = token.Options{Resource: resource, JWKS: o.text(o.jwks, "jwks")}
	for _, list := range []struct {
		into *[]string
		flag []string
		what string
	}{
		{&given.Issuers, o.issuers, "issuer"},
		{&given.Audience, o.audience, "audience"},
		{&given.Required, o.scopes, "scopes"},
	} {
		if *list.into, err = o.list(list.flag, list.what); err != nil {
			return token.Options{}, err
		}
	}
	return given, nil
}
