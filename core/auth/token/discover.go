package token

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// places are where the metadata of the issuer may be, in the order in which to look.
func (from *issuer) places() []string {
	path := strings.TrimSuffix(from.url.EscapedPath(), "/")
	root := (&url.URL{Scheme: from.url.Scheme, Host: from.url.Host}).String()
	all := []string{
		root + "/.well-known/oauth-authorization-server" + path,
		root + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		all = append(all, root+path+"/.well-known/openid-configuration")
	}
	return all
}

// discover finds the URL of the issuer's keys in its metadata.
func (from *issuer) discover(ctx context.Context) (string, error) {
	var errs []error
	for _, place := range from.places() {
		found, err := from.ask(ctx, place)
		if err == nil {
			return found, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("the metadata of the issuer cannot be had: %w", errors.Join(errs...))
}

// ask reads the URL of the issuer's keys from its metadata in one place.
func (from *issuer) ask(ctx context.Context, place string) (string, error) {
	text, err := get(ctx, from.client, place)
	if err != nil {
		return "", err
	}
	var said struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return "", fmt.Errorf("%s: %w", place, err)
	}
	if said.Issuer != from.name {
		return "", fmt.Errorf("%s is the metadata of the issuer %q, not of %q: name the issuer exactly as it does itself", place, said.Issuer, from.name)
	}
	u, err := url.Parse(said.JWKS)
	if err != nil || u.Host == "" || !isSafe(u) || from.url.Scheme == "https" && u.Scheme != "https" {
		return "", fmt.Errorf("%s says that the keys are at %q, which is not safe to read; it has to begin with https", place, said.JWKS)
	}
	return said.JWKS, nil
}
