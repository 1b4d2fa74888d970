// Package oauth makes the command serve check bearer tokens of an OAuth 2.1 authorization server.
// It adds the flags --oauth-…, and does nothing without an issuer.
package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/auth/token"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/project"
	"github.com/petrock/petrock/core/terminal"
)

// OAuth holds the flags. It implements serve.Authenticator.
type OAuth struct {
	program                   string
	issuers, audience, scopes []string
	jwks                      string
}

// New returns the extension for a program.
func New(program string) *OAuth { return &OAuth{program: program} }

// Flags adds the flags to the command serve. Other commands have no tokens.
func (o *OAuth) Flags(cmd *cobra.Command) {
	if cmd.Name() != "serve" {
		return
	}
	cmd.Long += `

With an issuer, from --oauth-issuer or ` + o.variable("issuer") + `, callers must send a bearer token (OAuth 2.1) of that issuer, or a
key. The audience of a token must be --public-url, or the URL that serve listens on.`
	cmd.Example += "\n  " + o.program + " serve --oauth-issuer https://login.example.com --public-url https://mcp.example.com/mcp"
	flags := cmd.Flags()
	flags.StringArrayVar(&o.issuers, "oauth-issuer", nil, "issuer of tokens, such as https://login.example.com, exactly as in the tokens; may be repeated (default $"+o.variable("issuer")+")")
	flags.StringVar(&o.jwks, "oauth-jwks", "", "URL of the issuer's keys, if its metadata lacks it (default $"+o.variable("jwks")+")")
	flags.StringArrayVar(&o.audience, "oauth-audience", nil, "audience of tokens, instead of the public URL; may be repeated (default $"+o.variable("audience")+")")
	flags.StringArrayVar(&o.scopes, "oauth-scopes", nil, "scopes that every call needs, in addition to those of a tool; may be repeated (default $"+o.variable("scopes")+")")
}

// Commands returns none.
func (o *OAuth) Commands() []*cobra.Command { return nil }

// SetupHint tells how to configure the check.
func (o *OAuth) SetupHint() string {
	return "set the issuer of tokens with --oauth-issuer or " + o.variable("issuer")
}

// Open registers nothing.
func (o *OAuth) Open(context.Context, *mcp.Server, *slog.Logger) (end func() error, err error) {
	return func() error { return nil }, nil
}

// Gate returns the gate for tokens whose audience is resource, the public URL of the server, and
// the metadata pages for clients. It is nil without an issuer. The keys of the issuer are fetched
// in the background; errors are logged.
func (o *OAuth) Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error) {
	given, err := o.options(resource)
	if err != nil {
		return nil, nil, err
	}
	if len(given.Issuers) == 0 {
		if given.JWKS != "" || given.Audience != nil || given.Required != nil {
			return nil, nil, terminal.Usagef("no issuer of tokens is set, but other OAuth options are; set --oauth-issuer or %s", o.variable("issuer"))
		}
		return nil, nil, nil
	}
	if resource == "" {
		return nil, nil, terminal.Usagef("the public URL is not known, which is the audience of tokens; set it, such as --public-url https://mcp.example.com/mcp")
	}
	given.Logger = log
	made, err := token.New(given)
	if err != nil {
		return nil, nil, &terminal.UsageError{Err: err}
	}
	go made.Warm(context.Background()) // logs errors, and ends by itself
	path, page := made.Metadata()
	return made, map[string]http.Handler{path: page, token.WellKnown: page}, nil
}

// options reads the flags and the environment.
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

// variable returns the environment variable for a flag.
func (o *OAuth) variable(what string) string { return project.Variable(o.program, "oauth_"+what) }

// text returns the value of a flag, or of its environment variable.
func (o *OAuth) text(flag, what string) string {
	if flag != "" {
		return flag
	}
	return strings.TrimSpace(os.Getenv(o.variable(what)))
}

// list returns the values of a flag, or of its environment variable, separated by spaces or commas.
// It is nil if neither is set. It is an error if one is set and empty, because the operator expects
// a check.
func (o *OAuth) list(flag []string, what string) (all []string, err error) {
	given, name := strings.Join(flag, " "), "--oauth-"+what
	if len(flag) == 0 {
		name = o.variable(what)
		var ok bool
		if given, ok = os.LookupEnv(name); !ok {
			return nil, nil
		}
	}
	for text := range strings.FieldsFuncSeq(given, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' || r == '\n' }) {
		all = append(all, text)
	}
	if all == nil {
		return nil, terminal.Usagef("%s is empty; set a value, or leave it out", name)
	}
	return all, nil
}
