package token

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	maxKeys = 100  // how many keys an issuer may have
	minRSA  = 2048 // how many bits a key of RSA has at least
)

// A key is one that an issuer signs with, the half that is public.
type key struct {
	id        string
	algorithm string // the only one that it is for; "" if it does not say
	public    any
}

// A keySet is the keys of an issuer.
type keySet struct{ keys []key }

// published is a key as a JWKS has it, without what is of no use for signatures of tokens.
type published struct {
	Type      string `json:"kty"`
	ID        string `json:"kid,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`
}

// readKeys reads a JWKS. Keys that are for something else, or not known, are left out. That there are none is not an
// error: an issuer may take all of them back.
func readKeys(text []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys, and %d is the most", len(set.Keys), maxKeys)
	}
	if set.Keys == nil {
		return nil, errors.New("it has no keys, so it is no JWKS")
	}
	made := &keySet{}
	for _, raw := range set.Keys {
		if k, ok := readKey(raw); ok {
			made.keys = append(made.keys, k)
		}
	}
	return made, nil
}

// readKey reads one key of a JWKS, if it is one that tokens may be signed with.
func readKey(raw json.RawMessage) (key, bool) {
	var use struct {
		Use        string   `json:"use"`
		Operations []string `json:"key_ops"`
	}
	var p published
	if json.Unmarshal(raw, &use) != nil || json.Unmarshal(raw, &p) != nil {
		return key{}, false
	}
	if use.Use != "" && use.Use != "sig" || use.Operations != nil && !slices.Contains(use.Operations, "verify") {
		return key{}, false
	}
	if p.Algorithm != "" && !slices.Contains(algorithms(), jose.SignatureAlgorithm(p.Algorithm)) {
		return key{}, false
	}
	clean, err := json.Marshal(p)
	var read jose.JSONWebKey
	if err != nil || read.UnmarshalJSON(clean) != nil || !read.IsPublic() || !read.Valid() {
		return key{}, false
	}
	if public, ok := read.Key.(*rsa.PublicKey); ok && public.N.BitLen() < minRSA {
		return key{}, false
	}
	return key{p.ID, p.Algorithm, read.Key}, true
}
