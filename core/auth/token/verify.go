package token

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	jose "github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"

	"github.com/petrock/petrock/core/auth"
)

// algorithms returns the accepted signature algorithms. All are asymmetric.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// parse parses a token, but does not verify its signature. It returns nil if the text is not a JWT.
func parse(text string) (*jose.JSONWebSignature, error) {
	if strings.Count(text, ".") != 2 {
		return nil, nil
	}
	t, err := jose.ParseSignedCompact(text, algorithms())
	if err != nil {
		return nil, errInvalid("the token is not a JWT with an accepted signature algorithm")
	}
	headers := t.Signatures[0].Protected.ExtraHeaders
	if _, ok := headers["crit"]; ok {
		return nil, errInvalid("the token has critical headers that are not supported")
	}
	if typ, given := headers["typ"]; given && !isTokenType(typ) {
		return nil, errInvalid("the typ header of the token is not that of an access token")
	}
	return t, nil
}

// isTokenType reports whether a typ header is that of an access token.
func isTokenType(typ any) bool {
	text, _ := typ.(string)
	text = strings.ToLower(text)
	if !strings.Contains(text, "/") {
		text = "application/" + text
	}
	return text == "application/at+jwt" || text == "application/jwt"
}

// claimedIssuer returns the issuer that a token claims, whose keys must verify it.
func claimedIssuer(t *jose.JSONWebSignature) string {
	var payload struct {
		Issuer string `json:"iss"`
	}
	if err := strict.Unmarshal(t.UnsafePayloadWithoutVerification(), &payload); err != nil {
		return ""
	}
	return payload.Issuer
}

// verify returns the payload of a token if one of the issuer's keys has signed it.
func (iss *issuer) verify(ctx context.Context, t *jose.JSONWebSignature) ([]byte, error) {
	keys, err := iss.currentKeys(ctx)
	if err != nil {
		return nil, err
	}
	payload, known := keys.verify(t)
	if payload == nil && !known {
		if keys, err = iss.newerKeys(ctx, keys); err != nil {
			return nil, err
		}
		payload, _ = keys.verify(t)
	}
	if payload == nil {
		return nil, errInvalid("the token is not signed by its issuer")
	}
	return payload, nil
}

// verify returns the payload of a token if one of the keys has signed it. known reports whether the
// set has the kid of the token; if it does, newer keys would not help.
func (s *keySet) verify(t *jose.JSONWebSignature) (payload []byte, known bool) {
	header := t.Signatures[0].Protected
	kid := header.KeyID
	var candidates []key
	for _, k := range s.keys {
		if kid != "" && k.id != kid {
			continue
		}
		known = known || kid != ""
		if k.supports(header.Algorithm) {
			candidates = append(candidates, k)
		}
	}
	if kid == "" && len(candidates) != 1 {
		return nil, false
	}
	for _, k := range candidates {
		if payload, err := t.Verify(k.public); err == nil {
			return payload, true
		}
	}
	return nil, known
}

func (k key) supports(algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch public := k.public.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return algorithm == "ES256" && public.Curve == elliptic.P256() || algorithm == "ES384" && public.Curve == elliptic.P384() ||
			algorithm == "ES512" && public.Curve == elliptic.P521()
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// claims are the claims of a token that are checked. Decoding is strict: repeated names and names
// in another case are errors.
type claims struct {
	Issuer   string     `json:"iss"`
	Subject  string     `json:"sub"`
	Audience stringList `json:"aud"`
	Expires  *float64   `json:"exp"`
	Begins   *float64   `json:"nbf"`
	Issued   *float64   `json:"iat"`
	Scope    stringList `json:"scope"`
	Scp      stringList `json:"scp"`

	// The calling program; the claim depends on the issuer.
	ClientID        string `json:"client_id"`
	AuthorizedParty any    `json:"azp"`
	CID             any    `json:"cid"`

	// Claims of tokens that are not access tokens.
	AccessHash any `json:"at_hash"`
	CodeHash   any `json:"c_hash"`
	TokenUse   any `json:"token_use"` // "id"
	Type       any `json:"typ"`       // "ID", "Refresh"
}

// stringList is a string or a list of strings.
type stringList []string

func (t *stringList) UnmarshalJSON(data []byte) error {
	var one *string
	if strict.Unmarshal(data, &one) == nil {
		*t = nil
		if one != nil {
			*t = stringList{*one}
		}
		return nil
	}
	return strict.Unmarshal(data, (*[]string)(t))
}

// identify checks the claims of a token with a valid signature, and returns its identity.
func (g *Gate) identify(from string, payload []byte, now time.Time) (*auth.Identity, error) {
	var c claims
	if !utf8.Valid(payload) || strict.Unmarshal(payload, &c) != nil {
		return nil, errInvalid("the claims of the token are malformed")
	}
	if c.Issuer != from {
		return nil, errInvalid("the token is from another issuer")
	}
	if !slices.ContainsFunc(c.Audience, func(aud string) bool { return slices.Contains(g.audience, aud) }) {
		return nil, errInvalid("the token is for another server")
	}
	if err := c.checkTimes(now); err != nil {
		return nil, err
	}
	if c.isOtherToken() {
		return nil, errInvalid("the token is not an access token")
	}
	id := &auth.Identity{Subject: c.Subject, Issuer: c.Issuer, Client: c.client(), Scopes: scopes(c.Scope, c.Scp), Expires: c.expiry(), Claims: slices.Clone(payload)}
	if id.Subject == "" && id.Client == "" {
		return nil, errInvalid("the token has neither sub nor client_id")
	}
	id.Name = g.uniqueName(id)
	if !id.May(g.required...) {
		return nil, &auth.Refusal{Code: insufficientScope, Message: "the token lacks a required scope; required scopes: " + strings.Join(g.required, " ")}
	}
	return id, nil
}

// uniqueName returns a name that no other caller has; empty if the subject is such a name.
func (g *Gate) uniqueName(id *auth.Identity) string {
	name := cmp.Or(id.Subject, "client:"+id.Client)
	switch {
	case id.Issuer != g.first || auth.IsReservedActor(id.Subject):
		return name + "@" + id.Issuer
	case id.Subject == "":
		return name
	}
	return ""
}

func (c claims) checkTimes(now time.Time) error {
	at, skew := float64(now.UnixMilli())/1000, leeway.Seconds()
	switch {
	case c.Expires == nil:
		return errInvalid("the token has no expiry")
	case at >= *c.Expires+skew:
		return errInvalid("the token has expired")
	case c.Begins != nil && at < *c.Begins-skew, c.Issued != nil && at < *c.Issued-skew:
		return errInvalid("the token is not valid yet")
	}
	return nil
}

// expiry returns when the token expires, including the leeway; zero, which means never, if that is
// more than about two thousand years from now.
func (c claims) expiry() time.Time {
	if *c.Expires > 1<<36 {
		return time.Time{}
	}
	return time.UnixMilli(int64(*c.Expires * 1000)).Add(leeway)
}

// isOtherToken reports whether the claims are those of an ID token or refresh token.
func (c claims) isOtherToken() bool {
	isOneOf := func(v any, words ...string) bool {
		text, _ := v.(string)
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(text, word) })
	}
	return c.AccessHash != nil || c.CodeHash != nil || isOneOf(c.TokenUse, "id") || isOneOf(c.Type, "ID", "Refresh", "Offline")
}

// client returns the id of the program that the token was issued to, or "".
func (c claims) client() string {
	party, _ := c.AuthorizedParty.(string)
	cid, _ := c.CID.(string)
	return cmp.Or(c.ClientID, party, cid)
}

// scopes returns the space-separated scopes of claims, without duplicates.
func scopes(lists ...stringList) []string {
	var all []string
	for scope := range strings.SplitSeq(strings.Join(slices.Concat(lists...), " "), " ") {
		if scope != "" && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}
