package token

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

const (
	refreshAfter = 15 * time.Minute // older keys are refreshed in the background
	idleAfter    = time.Hour        // after this time without calls, calls wait for new keys
	expireAfter  = 24 * time.Hour   // older keys are not used
	minInterval  = 10 * time.Second // minimum time between two requests to an issuer
)

// An issuer is an authorization server, with a cache of its keys.
type issuer struct {
	name   string
	url    *url.URL
	jwks   string // URL of the keys; empty if the metadata has it
	client *http.Client
	log    *slog.Logger

	mu        sync.Mutex
	keys      *keySet
	fetched   time.Time     // when the keys were fetched
	lastFetch time.Time     // when the last fetch ended
	fetchErr  error         // error of the last fetch
	pending   chan struct{} // closed when the running fetch has ended; nil without one
}

// currentKeys returns the cached keys, and refreshes old ones in the background. After idleAfter
// without calls it waits for the new keys, so that a key revoked meanwhile is not accepted. If the
// issuer does not answer, it returns the cached keys.
func (iss *issuer) currentKeys(ctx context.Context) (*keySet, error) {
	iss.mu.Lock()
	var err error
	if iss.keys != nil && time.Since(iss.fetched) >= refreshAfter {
		wasIdle := time.Since(iss.lastFetch) >= idleAfter
		if pending := iss.startFetch(); wasIdle {
			err = iss.waitFetch(ctx, pending)
		}
	}
	keys, age := iss.keys, time.Since(iss.fetched)
	iss.mu.Unlock()
	if err != nil || keys != nil && age < expireAfter {
		return keys, err
	}
	return iss.newerKeys(ctx, keys)
}

// newerKeys waits for keys other than known, and returns the latest ones. It does not fetch more
// often than minInterval allows. It returns an error if the last fetch failed.
func (iss *issuer) newerKeys(ctx context.Context, known *keySet) (*keySet, error) {
	iss.mu.Lock()
	defer iss.mu.Unlock()
	if iss.keys == known || time.Since(iss.fetched) >= expireAfter {
		if err := iss.waitFetch(ctx, iss.startFetch()); err != nil {
			return nil, err
		}
	}
	if iss.fetchErr != nil || iss.keys == nil {
		return nil, iss.fetchErr
	}
	return iss.keys, nil
}

// startFetch starts a fetch unless one is running or minInterval has not passed. It returns a
// channel that is closed at the end of the fetch, or nil if none is running. mu is held.
func (iss *issuer) startFetch() chan struct{} {
	if iss.pending == nil && (iss.lastFetch.IsZero() || time.Since(iss.lastFetch) >= minInterval) {
		iss.pending = make(chan struct{})
		go iss.fetchShared(iss.pending)
	}
	return iss.pending
}

// waitFetch waits for a fetch. mu is held before and after, but not while it waits.
func (iss *issuer) waitFetch(ctx context.Context, pending chan struct{}) error {
	if pending == nil {
		return nil
	}
	iss.mu.Unlock()
	defer iss.mu.Lock()
	select {
	case <-pending:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the keys of issuer %s: %w", iss.name, ctx.Err())
	}
}

// fetchShared fetches the keys for all waiters. It continues if one of them gives up.
func (iss *issuer) fetchShared(pending chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), fetchTimeout)
	defer stop()
	keys, err := iss.fetchKeys(ctx)
	iss.mu.Lock()
	defer iss.mu.Unlock()
	defer close(pending)
	iss.pending, iss.lastFetch, iss.fetchErr = nil, time.Now(), nil
	if err != nil {
		iss.fetchErr = fmt.Errorf("fetch the keys of issuer %s: %w", iss.name, err)
		iss.log.Warn("fetch keys failed", "issuer", iss.name, "error", err, "cached", iss.keys != nil)
		return
	}
	iss.keys, iss.fetched = keys, time.Now()
	level := slog.LevelDebug
	if len(keys.keys) == 0 {
		level = slog.LevelWarn
	}
	iss.log.Log(ctx, level, "fetched keys", "issuer", iss.name, "keys", len(keys.keys))
}

func (iss *issuer) fetchKeys(ctx context.Context) (*keySet, error) {
	from := iss.jwks
	if from == "" {
		var err error
		if from, err = iss.discoverJWKS(ctx); err != nil {
			return nil, err
		}
	}
	text, err := fetchPage(ctx, iss.client, from)
	if err != nil {
		return nil, err
	}
	keys, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", from, err)
	}
	return keys, nil
}

// metadataURLs returns the URLs where the metadata of the issuer may be, in order of preference.
func (iss *issuer) metadataURLs() []string {
	path := strings.TrimSuffix(iss.url.EscapedPath(), "/")
	root := (&url.URL{Scheme: iss.url.Scheme, Host: iss.url.Host}).String()
	all := []string{
		root + "/.well-known/oauth-authorization-server" + path,
		root + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		all = append(all, root+path+"/.well-known/openid-configuration")
	}
	return all
}

func (iss *issuer) discoverJWKS(ctx context.Context) (string, error) {
	var errs []error
	for _, from := range iss.metadataURLs() {
		found, err := iss.fetchJWKSURL(ctx, from)
		if err == nil {
			return found, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return "", fmt.Errorf("fetch metadata: %w", errors.Join(errs...))
}

// fetchJWKSURL returns the URL of the issuer's keys from the metadata at a URL.
func (iss *issuer) fetchJWKSURL(ctx context.Context, from string) (string, error) {
	text, err := fetchPage(ctx, iss.client, from)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Issuer string `json:"issuer"`
		JWKS   string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(text, &metadata); err != nil {
		return "", fmt.Errorf("parse %s: %w", from, err)
	}
	if metadata.Issuer != iss.name {
		return "", fmt.Errorf("%s is the metadata of issuer %q, not %q; set the issuer exactly as in its metadata", from, metadata.Issuer, iss.name)
	}
	u, err := url.Parse(metadata.JWKS)
	if err != nil || u.Host == "" || !isSafe(u) || iss.url.Scheme == "https" && u.Scheme != "https" {
		return "", fmt.Errorf("%s has an unsafe jwks_uri %q; it must use https", from, metadata.JWKS)
	}
	return metadata.JWKS, nil
}

const (
	fetchTimeout = 10 * time.Second // for metadata and keys together
	maxPage      = 1 << 20          // bytes
)

// restrictRedirects returns a copy of a client that follows at most three redirects, to the same
// host only, and stores no cookies.
func restrictRedirects(given *http.Client) *http.Client {
	c := *cmp.Or(given, &http.Client{})
	c.Jar = nil
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case len(via) > 3:
			return errors.New("too many redirects")
		case r.URL.Host != first.Host || r.URL.Scheme != first.Scheme:
			return fmt.Errorf("redirect to another host: %s://%s", r.URL.Scheme, r.URL.Host)
		}
		return nil
	}
	return &c
}

func fetchPage(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("fetch %s: status %d", from, resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("fetch %s: %w", from, err)
	case len(text) > maxPage:
		return nil, fmt.Errorf("fetch %s: larger than %d bytes", from, maxPage)
	}
	return text, nil
}

// isSafe reports whether a URL uses https or names this machine.
func isSafe(u *url.URL) bool {
	host := u.Hostname()
	return u.Scheme == "https" || u.Scheme == "http" && (host == "localhost" || net.ParseIP(host).IsLoopback())
}

const (
	maxKeys = 100  // per issuer
	minRSA  = 2048 // bits
)

// A key is a public key of an issuer.
type key struct {
	id        string
	algorithm string // empty if the key does not name one
	public    any
}

type keySet struct{ keys []key }

// jwk has the fields of a JWKS key that signatures need.
type jwk struct {
	Type      string `json:"kty"`
	ID        string `json:"kid,omitempty"`
	Algorithm string `json:"alg,omitempty"`
	Curve     string `json:"crv,omitempty"`
	X         string `json:"x,omitempty"`
	Y         string `json:"y,omitempty"`
	N         string `json:"n,omitempty"`
	E         string `json:"e,omitempty"`

	Use        string   `json:"use,omitempty"`
	Operations []string `json:"key_ops,omitempty"`
}

// parseKeys parses a JWKS. It skips unknown keys, and keys that are not for signatures. An empty
// set is valid, because an issuer may revoke all keys.
func parseKeys(text []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("%d keys; the limit is %d", len(set.Keys), maxKeys)
	}
	if set.Keys == nil {
		return nil, errors.New("not a JWKS: keys is missing")
	}
	parsed := &keySet{}
	for _, raw := range set.Keys {
		if k, ok := parseKey(raw); ok {
			parsed.keys = append(parsed.keys, k)
		}
	}
	return parsed, nil
}

// parseKey parses a key of a JWKS, and reports whether tokens may be signed with it.
func parseKey(raw json.RawMessage) (key, bool) {
	var p jwk
	if json.Unmarshal(raw, &p) != nil {
		return key{}, false
	}
	if p.Use != "" && p.Use != "sig" || p.Operations != nil && !slices.Contains(p.Operations, "verify") {
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
