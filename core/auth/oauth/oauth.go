// Package oauth adds the --oauth flags to the command serve. With --oauth-issuer, serve accepts the
// bearer tokens of that OAuth 2.1 authorization server. [New] returns the extension for the Wiring
// of a program. To check tokens in an HTTP server of your own, use package token.
package oauth

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/auth/token"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/plumbing/project"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// OAuth holds the flags. It implements serve.Authenticator.
type OAuth struct {
	program                   string
	issuers, audience, scopes []string
	jwks                      string
	serve                     *cobra.Command
}

// New returns the extension for a program.
func New(program string) *OAuth { return &OAuth{program: program} }

// Flags adds the flags to the command serve.
func (o *OAuth) Flags(cmd *cobra.Command) {
	if cmd.Name() != "serve" {
		return
	}
	cmd.Long += `

With --oauth-issuer or ` + o.variable("issuer") + `, callers must send a bearer token (OAuth 2.1) of that issuer, or an API key.
The audience of a token must be --oauth-audience, by default --public-url or the URL that serve listens on.`
	cmd.Example += "\n  " + o.program + " serve --oauth-issuer https://login.example.com --public-url https://mcp.example.com/mcp"
	flags := cmd.Flags()
	o.serve = cmd
	flags.StringArrayVar(&o.issuers, "oauth-issuer", nil, "accepted issuer of tokens, exactly as in their iss claim, such as https://login.example.com; may be repeated (default $"+o.variable("issuer")+")")
	flags.StringVar(&o.jwks, "oauth-jwks", "", "URL of the issuer's JWKS, if its metadata does not have it (default $"+o.variable("jwks")+")")
	flags.StringArrayVar(&o.audience, "oauth-audience", nil, "accepted audience of tokens, instead of the public URL; may be repeated (default $"+o.variable("audience")+")")
	flags.StringArrayVar(&o.scopes, "oauth-scopes", nil, "scopes that every call requires, in addition to those of a tool; may be repeated (default $"+o.variable("scopes")+")")
}

// Commands returns none.
func (o *OAuth) Commands() []*cobra.Command { return nil }

// SetupHint returns how to configure the check of tokens.
func (o *OAuth) SetupHint() string {
	return "set the issuer of tokens with --oauth-issuer or " + o.variable("issuer")
}

// Open registers nothing.
func (o *OAuth) Open(context.Context, *mcp.Server, *slog.Logger) (end func() error, err error) {
	return func() error { return nil }, nil
}

// Gate returns a gate for tokens whose audience is resource, the public URL of the server, and the
// metadata pages for clients. It returns nil without an issuer. It fetches the keys of the issuer
// in the background, and logs errors.
func (o *OAuth) Gate(resource string, log *slog.Logger) (gate auth.Gate, pages map[string]http.Handler, err error) {
	options, err := o.options(resource)
	if err != nil {
		return nil, nil, err
	}
	if len(options.Issuers) == 0 {
		if options.JWKS != "" || options.Audience != nil || options.Required != nil {
			return nil, nil, terminal.Usagef("OAuth options without an issuer; set --oauth-issuer or %s", o.variable("issuer"))
		}
		return nil, nil, nil
	}
	if resource == "" {
		return nil, nil, terminal.Usagef("the audience of tokens is not known; set --public-url, such as --public-url https://mcp.example.com/mcp")
	}
	options.Logger = log
	tokens, err := token.New(options)
	if err != nil {
		return nil, nil, &terminal.UsageError{Err: err}
	}
	go tokens.Prefetch(context.Background())
	path, page := tokens.Metadata()
	return tokens, map[string]http.Handler{path: page, token.WellKnown: page}, nil
}

func (o *OAuth) options(resource string) (options token.Options, err error) {
	var given []string
	if o.serve.Flags().Changed("oauth-jwks") {
		given = []string{o.jwks}
	}
	jwks, jwksErr := o.text(given, "jwks")
	issuers, issuersErr := o.list(o.issuers, "issuer")
	audience, audienceErr := o.list(o.audience, "audience")
	required, requiredErr := o.list(o.scopes, "scopes")
	options = token.Options{Resource: resource, JWKS: jwks, Issuers: issuers, Audience: audience, Required: required}
	return options, cmp.Or(jwksErr, issuersErr, audienceErr, requiredErr)
}

func (o *OAuth) variable(flag string) string { return project.Variable(o.program, "oauth_"+flag) }

// list returns the values of a flag, or of its environment variable, separated by spaces or commas.
// It is nil if neither is set.
func (o *OAuth) list(values []string, flag string) ([]string, error) {
	given, err := o.text(values, flag)
	return slices.Collect(strings.FieldsFuncSeq(given, isSeparator)), err
}

// text returns the values of a flag, separated by spaces, or its environment variable. It is empty
// if neither is set. A value that is set but empty is an error, because the operator expects a
// check.
func (o *OAuth) text(values []string, flag string) (given string, err error) {
	given, name := strings.Join(values, " "), "--oauth-"+flag
	if len(values) == 0 {
		name = o.variable(flag)
		var ok bool
		if given, ok = os.LookupEnv(name); !ok {
			return "", nil
		}
	}
	if given = strings.TrimFunc(given, isSeparator); given == "" {
		return "", terminal.Usagef("%s is empty; set a value, or omit it", name)
	}
	return given, nil
}

func isSeparator(r rune) bool { return strings.ContainsRune(" ,\t\n", r) }
