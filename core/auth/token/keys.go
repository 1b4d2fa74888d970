package token

import (
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
	fresh = 15 * time.Minute // older keys are fetched again in the background
	idle  = time.Hour        // after this time without calls, calls wait for new keys
	stale = 24 * time.Hour   // older keys are not used
	pause = 10 * time.Second // minimum time between two requests to an issuer
)

// An issuer issues tokens. It caches its keys.
type issuer struct {
	name   string
	url    *url.URL
	jwks   string // URL of the keys; empty means the one in the metadata
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex
	keys    *keySet
	fetched time.Time     // when the keys were fetched
	asked   time.Time     // when the issuer was last asked
	failed  error         // the error of that
	flight  chan struct{} // closed when the running request has ended; nil without one
}

// current returns valid keys. If they are old, it fetches newer ones in the background. After a
// time without calls it waits for the newer ones, so that a revoked key is not accepted once more.
// If the issuer does not answer, it returns the old keys.
func (from *issuer) current(ctx context.Context) (*keySet, error) {
	from.mu.Lock()
	var err error
	if from.keys != nil && time.Since(from.fetched) >= fresh {
		long := time.Since(from.asked) >= idle
		if flight := from.begin(); long {
			err = from.wait(ctx, flight)
		}
	}
	keys, age := from.keys, time.Since(from.fetched)
	from.mu.Unlock()
	if err != nil || keys != nil && age < stale {
		return keys, err
	}
	return from.newer(ctx, keys)
}

// newer returns keys other than those known, if there are any. It asks the issuer, unless it was
// asked just now, and waits. It returns an error if the issuer cannot be asked.
func (from *issuer) newer(ctx context.Context, known *keySet) (*keySet, error) {
	from.mu.Lock()
	defer from.mu.Unlock()
	if from.keys == known || time.Since(from.fetched) >= stale {
		if err := from.wait(ctx, from.begin()); err != nil {
			return nil, err
		}
	}
	if from.failed != nil || from.keys == nil {
		return nil, from.failed
	}
	return from.keys, nil
}

// refresh asks the issuer, unless it was asked just now.
func (from *issuer) refresh(ctx context.Context) error {
	_, err := from.newer(ctx, nil)
	return err
}

// begin starts to ask the issuer, unless it is being asked or was asked just now. The channel is
// closed at the end; it is nil if there is nothing to wait for. The lock is held.
func (from *issuer) begin() chan struct{} {
	if from.flight == nil && (from.asked.IsZero() || time.Since(from.asked) >= pause) {
		from.flight = make(chan struct{})
		go from.fly(from.flight)
	}
	return from.flight
}

// wait waits for the answer of the issuer. The lock is held before and after, but not while it
// waits.
func (from *issuer) wait(ctx context.Context, flight chan struct{}) error {
	if flight == nil {
		return nil
	}
	from.mu.Unlock()
	defer from.mu.Lock()
	select {
	case <-flight:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the keys of %s: %w", from.name, ctx.Err())
	}
}

// fly asks the issuer on behalf of all waiters. It continues if one of them gives up.
func (from *issuer) fly(flight chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), fetchTime)
	defer stop()
	keys, err := from.fetch(ctx)
	from.mu.Lock()
	defer from.mu.Unlock()
	defer close(flight)
	from.flight, from.asked, from.failed = nil, time.Now(), nil
	if err != nil {
		from.failed = fmt.Errorf("fetch the keys of issuer %s: %w", from.name, err)
		from.log.Warn("keys of an issuer cannot be had", "issuer", from.name, "error", err, "kept", from.keys != nil)
		return
	}
	from.keys, from.fetched = keys, time.Now()
	level := slog.LevelDebug
	if len(keys.keys) == 0 {
		level = slog.LevelWarn
	}
	from.log.Log(ctx, level, "keys of an issuer", "issuer", from.name, "keys", len(keys.keys))
}

// fetch fetches the keys of the issuer.
func (from *issuer) fetch(ctx context.Context) (*keySet, error) {
	where := from.jwks
	if where == "" {
		var err error
		if where, err = from.discover(ctx); err != nil {
			return nil, err
		}
	}
	text, err := get(ctx, from.client, where)
	if err != nil {
		return nil, err
	}
	keys, err := readKeys(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", where, err)
	}
	return keys, nil
}

// places returns the URLs where the metadata of the issuer may be, in order.
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
	return "", fmt.Errorf("fetch the metadata of the issuer: %w", errors.Join(errs...))
}

// ask reads the URL of the issuer's keys from its metadata at one URL.
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
		return "", fmt.Errorf("%s is the metadata of issuer %q, not of %q; name the issuer exactly as its metadata does", place, said.Issuer, from.name)
	}
	u, err := url.Parse(said.JWKS)
	if err != nil || u.Host == "" || !isSafe(u) || from.url.Scheme == "https" && u.Scheme != "https" {
		return "", fmt.Errorf("%s has the keys at %q, which is not safe; the URL must start with https", place, said.JWKS)
	}
	return said.JWKS, nil
}

const (
	fetchTime = 10 * time.Second // time limit for all requests to an issuer at a time
	maxPage   = 1 << 20          // size limit of a page of an issuer
)

// guarded returns a client that follows no redirect to another host.
func guarded(given *http.Client) *http.Client {
	c := &http.Client{}
	if given != nil {
		*c = *given
	}
	c.Jar = nil
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case len(via) > 3:
			return errors.New("too many redirects")
		case r.URL.Host != first.Host || r.URL.Scheme != first.Scheme:
			return fmt.Errorf("redirect to another host, %s://%s", r.URL.Scheme, r.URL.Host)
		}
		return nil
	}
	return c
}

// get reads a page of an issuer.
func get(ctx context.Context, client *http.Client, from string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers with status %d", from, answer.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", from, err)
	case len(text) > maxPage:
		return nil, fmt.Errorf("%s has more than %d bytes", from, maxPage)
	}
	return text, nil
}

// isSafe reports whether a URL is protected against changes in transit.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

const (
	maxKeys = 100  // limit of keys of an issuer
	minRSA  = 2048 // minimum bits of an RSA key
)

// A key is a public key of an issuer.
type key struct {
	id        string
	algorithm string // the only one that it is for; empty if it does not say
	public    any
}

// A keySet is the keys of an issuer.
type keySet struct{ keys []key }

// published is a key of a JWKS, with the fields that signatures need.
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

// readKeys reads a JWKS. It leaves out keys that are unknown or not for signatures. An empty set is
// not an error: an issuer may revoke all keys.
func readKeys(text []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("it has %d keys; the limit is %d", len(set.Keys), maxKeys)
	}
	if set.Keys == nil {
		return nil, errors.New("not a JWKS: it has no keys")
	}
	made := &keySet{}
	for _, raw := range set.Keys {
		if k, ok := readKey(raw); ok {
			made.keys = append(made.keys, k)
		}
	}
	return made, nil
}

// readKey reads one key of a JWKS, if tokens may be signed with it.
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
