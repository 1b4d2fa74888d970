package token

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"
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
