package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"math"
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

// A parsed token is not verified yet.
type parsed struct {
	jws    *jose.JSONWebSignature
	header jose.Header
}

// parse parses a token. It returns nil if the text is not a JWT.
func parse(text string) (*parsed, error) {
	if strings.Count(text, ".") != 2 {
		return nil, nil
	}
	jws, err := jose.ParseSignedCompact(text, algorithms())
	if err != nil {
		return nil, invalid("the token is not a JWT with an accepted signature algorithm")
	}
	t := &parsed{jws, jws.Signatures[0].Protected}
	if _, ok := t.header.ExtraHeaders["crit"]; ok {
		return nil, invalid("the token has critical headers that are not supported")
	}
	if typ, given := t.header.ExtraHeaders["typ"]; given && !isTokenType(typ) {
		return nil, invalid("the type of the token is not an access token's")
	}
	return t, nil
}

// isTokenType reports whether typ in a header is a type of access tokens.
func isTokenType(typ any) bool {
	text, _ := typ.(string)
	text = strings.ToLower(text)
	if !strings.Contains(text, "/") {
		text = "application/" + text
	}
	return text == "application/at+jwt" || text == "application/jwt"
}

// issuer returns the issuer in the unverified token, which decides whose keys verify it.
func (t *parsed) issuer() string {
	var said struct {
		Issuer string `json:"iss"`
	}
	if err := strict.Unmarshal(t.jws.UnsafePayloadWithoutVerification(), &said); err != nil {
		return ""
	}
	return said.Issuer
}

// verify returns the payload of a token if one of the issuer's keys has signed it.
func (from *issuer) verify(ctx context.Context, t *parsed) ([]byte, error) {
	keys, err := from.current(ctx)
	if err != nil {
		return nil, err
	}
	payload, known := keys.verify(t)
	if payload == nil && !known {
		if keys, err = from.newer(ctx, keys); err != nil {
			return nil, err
		}
		payload, _ = keys.verify(t)
	}
	if payload == nil {
		return nil, invalid("the token is not signed by its issuer")
	}
	return payload, nil
}

// verify returns the payload of a token if one of the keys has signed it. known reports whether the
// set has the key that the token names, so that newer keys would not help.
func (s *keySet) verify(t *parsed) (payload []byte, known bool) {
	kid := t.header.KeyID
	var fitting []key
	for _, k := range s.keys {
		if kid != "" && k.id != kid {
			continue
		}
		known = known || kid != ""
		if k.fits(t.header.Algorithm) {
			fitting = append(fitting, k)
		}
	}
	if kid == "" && len(fitting) != 1 {
		return nil, false
	}
	for _, k := range fitting {
		if said, err := t.jws.Verify(k.public); err == nil {
			return said, true
		}
	}
	return nil, known
}

// fits reports whether a key can be used with an algorithm.
func (k key) fits(algorithm string) bool {
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

// claims are the checked claims of a token. They are decoded strictly: repeated names and other
// spellings are errors, so that all readers see the same values.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience texts    `json:"aud"`
	Expires  *float64 `json:"exp"`
	Begins   *float64 `json:"nbf"`
	Issued   *float64 `json:"iat"`
	Scope    texts    `json:"scope"`
	Scp      texts    `json:"scp"`

	// The program that calls, as different issuers name it.
	ClientID string `json:"client_id"`
	Party    any    `json:"azp"`
	CID      any    `json:"cid"`

	// Claims of other kinds of tokens.
	AccessHash any `json:"at_hash"`
	CodeHash   any `json:"c_hash"`
	Use        any `json:"token_use"` // "id"
	Type       any `json:"typ"`       // "ID", "Refresh"
}

// texts is a string or a list of strings.
type texts []string

// UnmarshalJSON decodes either form.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one *string
	if strict.Unmarshal(data, &one) == nil {
		*t = nil
		if one != nil {
			*t = texts{*one}
		}
		return nil
	}
	return strict.Unmarshal(data, (*[]string)(t))
}

// identify returns the identity of a token that its issuer has signed, if it is valid here and now.
func (g *Gate) identify(from string, payload []byte, now time.Time) (*auth.Identity, error) {
	var c claims
	if !utf8.Valid(payload) || strict.Unmarshal(payload, &c) != nil {
		return nil, invalid("the claims of the token are malformed")
	}
	if c.Issuer != from {
		return nil, invalid("the token is from another issuer")
	}
	if !slices.ContainsFunc(c.Audience, func(aud string) bool { return slices.Contains(g.audience, aud) }) {
		return nil, invalid("the token is for another server")
	}
	if err := g.inTime(c, now); err != nil {
		return nil, err
	}
	if c.isOther() {
		return nil, invalid("the token is not an access token")
	}
	id := &auth.Identity{Subject: c.Subject, Issuer: c.Issuer, Client: c.client(), Scopes: scopes(c.Scope, c.Scp), Until: g.until(c), Claims: slices.Clone(payload)}
	if id.Subject == "" && id.Client == "" {
		return nil, invalid("the token has neither sub nor client_id")
	}
	if !id.May(g.required...) {
		return nil, &auth.Refusal{Why: insufficient, Message: "the token lacks a required scope; required are: " + strings.Join(g.required, " ")}
	}
	return id, nil
}

// inTime returns an error if the token has expired or is not valid yet.
func (g *Gate) inTime(c claims, now time.Time) error {
	at, leeway := float64(now.UnixMilli())/1000, g.leeway.Seconds()
	for _, date := range []*float64{c.Expires, c.Begins, c.Issued} {
		if date != nil && (math.IsNaN(*date) || math.IsInf(*date, 0)) {
			return invalid("a time in the token is not valid")
		}
	}
	switch {
	case c.Expires == nil:
		return invalid("the token has no expiry")
	case at >= *c.Expires+leeway:
		return invalid("the token has expired")
	case c.Begins != nil && at < *c.Begins-leeway, c.Issued != nil && at < *c.Issued-leeway:
		return invalid("the token is not valid yet")
	}
	return nil
}

// until returns when the token expires, with the leeway; zero if that is too far away for a time.
func (g *Gate) until(c claims) time.Time {
	if *c.Expires > 1<<36 { // about two thousand years
		return time.Time{}
	}
	return time.UnixMilli(int64(*c.Expires * 1000)).Add(g.leeway)
}

// isOther reports whether a token is clearly not an access token.
func (c claims) isOther() bool {
	said := func(v any, words ...string) bool {
		text, _ := v.(string)
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(text, word) })
	}
	return c.AccessHash != nil || c.CodeHash != nil || said(c.Use, "id") || said(c.Type, "ID", "Refresh", "Offline")
}

// client returns the program that the token was issued to, empty if it is not known.
func (c claims) client() string {
	if c.ClientID != "" {
		return c.ClientID
	}
	for _, v := range []any{c.Party, c.CID} {
		if text, _ := v.(string); text != "" {
			return text
		}
	}
	return ""
}

// scopes returns the space-separated scopes of claims, without duplicates.
func scopes(lists ...texts) []string {
	var all []string
	for _, list := range lists {
		for _, text := range list {
			for word := range strings.SplitSeq(text, " ") {
				if word != "" && !slices.Contains(all, word) {
					all = append(all, word)
				}
			}
		}
	}
	return all
}
