package token

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

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
