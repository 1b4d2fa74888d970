package token

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	strict "github.com/go-jose/go-jose/v4/json"

	"github.com/petrock/petrock/core/auth"
)

// claims are what a token says, as far as it is looked at. They are read by a reader that takes no name twice and none
// in another spelling, so that nobody reads something else in the same token.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience texts    `json:"aud"`
	Expires  *float64 `json:"exp"`
	Begins   *float64 `json:"nbf"`
	Issued   *float64 `json:"iat"`
	Scope    texts    `json:"scope"`
	Scp      texts    `json:"scp"`

	// The program that calls, by the names that issuers have for it.
	ClientID string `json:"client_id"`
	Party    any    `json:"azp"`
	CID      any    `json:"cid"`

	// What other tokens than access tokens have.
	AccessHash any `json:"at_hash"`
	CodeHash   any `json:"c_hash"`
	Use        any `json:"token_use"` // "id"
	Type       any `json:"typ"`       // "ID", "Refresh"
}

// texts are a text or a list of them.
type texts []string

// UnmarshalJSON reads either form.
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

// identify is who a token is about that its issuer has signed, if it is good here and now.
func (g *Gate) identify(from string, payload []byte, now time.Time) (*auth.Identity, error) {
	var c claims
	if !utf8.Valid(payload) || strict.Unmarshal(payload, &c) != nil {
		return nil, invalid("what the token says is not as a token says it")
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
		return nil, invalid("the token is no access token")
	}
	id := &auth.Identity{Subject: c.Subject, Issuer: c.Issuer, Client: c.client(), Scopes: scopes(c.Scope, c.Scp), Until: g.until(c), Claims: slices.Clone(payload)}
	if id.Subject == "" && id.Client == "" {
		return nil, invalid("the token does not say whom it is about")
	}
	if !id.May(g.required...) {
		return nil, &auth.Refusal{Why: insufficient, Message: "the token does not have all scopes that are needed here: " + strings.Join(g.required, " ")}
	}
	return id, nil
}

// inTime refuses what was or will be good.
func (g *Gate) inTime(c claims, now time.Time) error {
	at, leeway := float64(now.UnixMilli())/1000, g.leeway.Seconds()
	for _, date := range []*float64{c.Expires, c.Begins, c.Issued} {
		if date != nil && (math.IsNaN(*date) || math.IsInf(*date, 0)) {
			return invalid("a time in the token is none")
		}
	}
	switch {
	case c.Expires == nil:
		return invalid("the token does not say when it expires")
	case at >= *c.Expires+leeway:
		return invalid("the token has expired")
	case c.Begins != nil && at < *c.Begins-leeway, c.Issued != nil && at < *c.Issued-leeway:
		return invalid("the token is not good yet")
	}
	return nil
}

// until is when a token is good no more, as [Gate.inTime] has it; zero if that is further away than clocks go.
func (g *Gate) until(c claims) time.Time {
	if *c.Expires > 1<<36 { // some two thousand years
		return time.Time{}
	}
	return time.UnixMilli(int64(*c.Expires * 1000)).Add(g.leeway)
}

// isOther reports whether a token is clearly no access token.
func (c claims) isOther() bool {
	said := func(v any, words ...string) bool {
		text, _ := v.(string)
		return slices.ContainsFunc(words, func(word string) bool { return strings.EqualFold(text, word) })
	}
	return c.AccessHash != nil || c.CodeHash != nil || said(c.Use, "id") || said(c.Type, "ID", "Refresh", "Offline")
}

// client is the program that the token was given to, "" if that is not known.
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

// scopes are those of a token's claims, each of which is words with spaces between them, each once.
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
