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
	fresh = 15 * time.Minute // keys that are older are fetched again, beside the calls
	idle  = time.Hour        // an issuer that was not asked for longer is waited for
	stale = 24 * time.Hour   // keys that are older are used no more
	pause = 10 * time.Second // an issuer is not asked more often
)

// An issuer gives tokens out. It keeps its keys.
type issuer struct {
	name   string
	url    *url.URL
	jwks   string // where the keys are; "" means where the metadata says
	client *http.Client
	log    *slog.Logger

	mu      sync.Mutex
	keys    *keySet
	fetched time.Time     // when the keys were
	asked   time.Time     // when the issuer was asked last
	failed  error         // what came of that
	flight  chan struct{} // closed when the asking that goes on has ended; nil if none goes on
}

// current is the keys that are good for use. If they are old, newer ones are fetched meanwhile. After a time without calls these are waited
// for: what the issuer has taken back long ago is not good for one more call. If it does not give any, the old ones have to do.
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

// newer is keys other than those known, as far as there are any: the issuer is asked, if it was not asked
// just now, and waited for. The error says that it cannot be asked.
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

// refresh asks the issuer, if it was not asked just now.
func (from *issuer) refresh(ctx context.Context) error {
	_, err := from.newer(ctx, nil)
	return err
}

// begin has the issuer asked, unless that goes on or was done just now. The channel is closed when it has ended; nil
// if there is nothing to wait for. The lock is held.
func (from *issuer) begin() chan struct{} {
	if from.flight == nil && (from.asked.IsZero() || time.Since(from.asked) >= pause) {
		from.flight = make(chan struct{})
		go from.fly(from.flight)
	}
	return from.flight
}

// wait waits until the asking has ended. The lock is held, but not meanwhile.
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

// fly asks the issuer, on behalf of all who wait: that one of them goes away does not end it.
func (from *issuer) fly(flight chan struct{}) {
	ctx, stop := context.WithTimeout(context.Background(), fetchTime)
	defer stop()
	keys, err := from.fetch(ctx)
	from.mu.Lock()
	defer from.mu.Unlock()
	defer close(flight)
	from.flight, from.asked, from.failed = nil, time.Now(), nil
	if err != nil {
		from.failed = fmt.Errorf("the keys of the issuer %s cannot be had: %w", from.name, err)
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

// fetch asks the issuer for its keys.
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

const (
	fetchTime = 10 * time.Second // how long an issuer may take for all that is asked of it at a time
	maxPage   = 1 << 20          // how large a page of an issuer may be
)

// guarded is a client that is sent elsewhere by nobody.
func guarded(given *http.Client) *http.Client {
	c := &http.Client{}
	if given != nil {
		*c = *given
	}
	c.Jar = nil
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		switch first := via[0].URL; {
		case len(via) > 3:
			return errors.New("it is sent on too often")
		case r.URL.Host != first.Host || r.URL.Scheme != first.Scheme:
			return fmt.Errorf("it is sent on to %s://%s, another host", r.URL.Scheme, r.URL.Host)
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

// isSafe reports whether nobody on the way can change what is read at a URL.
func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

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
