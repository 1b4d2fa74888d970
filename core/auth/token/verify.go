package token

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
)

// algorithms are those that tokens may be signed with. All have a private key, which only the issuer has.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	}
}

// A parsed token is one that nobody has vouched for yet.
type parsed struct {
	jws    *jose.JSONWebSignature
	header jose.Header
}

// parse reads a token. It is nil if the text is none at all.
func parse(text string) (*parsed, error) {
	if strings.Count(text, ".") != 2 {
		return nil, nil
	}
	jws, err := jose.ParseSignedCompact(text, algorithms())
	if err != nil {
		return nil, invalid("the token is no JWT that is signed with an algorithm that is taken here")
	}
	t := &parsed{jws, jws.Signatures[0].Protected}
	if _, ok := t.header.ExtraHeaders["crit"]; ok {
		return nil, invalid("the token wants something understood that is not understood here")
	}
	if typ, given := t.header.ExtraHeaders["typ"]; given && !isTokenType(typ) {
		return nil, invalid("the token is not of the type of access tokens")
	}
	return t, nil
}

// isTokenType reports whether the type that a header names is one of access tokens.
func isTokenType(typ any) bool {
	text, _ := typ.(string)
	text = strings.ToLower(text)
	if !strings.Contains(text, "/") {
		text = "application/" + text
	}
	return text == "application/at+jwt" || text == "application/jwt"
}

// issuer is who the token says that it is from, which decides whose keys it is checked with.
func (t *parsed) issuer() string {
	var said struct {
		Issuer string `json:"iss"`
	}
	if err := strict.Unmarshal(t.jws.UnsafePayloadWithoutVerification(), &said); err != nil {
		return ""
	}
	return said.Issuer
}

// verify returns what a token says if one of the issuer's keys has signed it.
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

// verify returns what a token says if one of the keys has signed it. known is whether newer keys would
// change nothing: the key that the token names is there.
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

// fits reports whether a key is for an algorithm.
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
