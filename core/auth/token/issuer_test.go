package token

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/auth"
)

// isFault checks that the error is not a refusal of the caller.
func isFault(t *testing.T, id *auth.Identity, err error, message string) {
	t.Helper()
	refusal := (*auth.Refusal)(nil)
	if id != nil || err == nil || errors.As(err, &refusal) || !strings.Contains(err.Error(), message) {
		t.Errorf("got %v and %v (%T), want nobody and an error that is no refusal and contains %q", id, err, err, message)
	}
}

// A new key is fetched with the first token that it has signed; a removed key is no longer used.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newSigner(t, "ES256", "one"), newSigner(t, "ES256", "two")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		enter := func(s signer) (*auth.Identity, error) { return g.Authenticate(request(s.sign(t, nil, claimSet(nil)))) }
		if _, err := enter(one); err != nil {
			t.Error(err)
		}
		time.Sleep(minInterval)
		w.publish(t, one.public(), two.public())
		if _, err := enter(two); err != nil {
			t.Errorf("a new key is not known: %v", err)
		}
		if _, err := enter(one); err != nil {
			t.Errorf("the old key is not accepted: %v", err)
		}
		time.Sleep(minInterval)
		w.publish(t, two.public())
		time.Sleep(refreshAfter)
		enter(two) // has the keys fetched
		synctest.Wait()
		id, err := enter(one)
		refusedAs(t, id, err, "invalid_token", "not signed")
		if n := w.times(jwksURL); n != 3 {
			t.Errorf("the keys were fetched %d times, want 3", n)
		}
	})
}

// An issuer whose tokens have no kid changes its key.
func TestRotationWithoutKID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newSigner(t, "ES256", ""), newSigner(t, "ES256", "")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		if err := g.Prefetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(minInterval)
		w.publish(t, two.public())
		if _, err := g.Authenticate(request(two.sign(t, nil, claimSet(nil)))); err != nil {
			t.Error(err)
		}
	})
}

// Unknown kids trigger a fetch only now and then.
func TestUnknownKIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "EdDSA", "one")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		for range 100 {
			s := one
			s.kid = time.Now().String()
			id, err := g.Authenticate(request(s.sign(t, nil, claimSet(nil))))
			refusedAs(t, id, err, "invalid_token", "not signed")
			time.Sleep(minInterval / 10)
		}
		if n := w.times(jwksURL); n != 10 {
			t.Errorf("in %v the keys were fetched %d times, want 10", 10*minInterval, n)
		}
	})
}

// Concurrent calls fetch keys once, and a caller that gives up does not cancel the fetch.
func TestOneFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "EdDSA", "one")
		w := newWorld(t, one.public())
		w.wait = make(chan struct{})
		g := w.gate(t, nil)
		token := one.sign(t, nil, claimSet(nil))
		var all sync.WaitGroup
		all.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			id, err := g.Authenticate(request(token).WithContext(ctx))
			isFault(t, id, err, "wait for the keys")
		})
		for range 20 {
			all.Go(func() {
				if _, err := g.Authenticate(request(token)); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(2 * time.Second)
		close(w.wait)
		all.Wait()
		if n := w.times(jwksURL); n != 1 {
			t.Errorf("the keys were fetched %d times, want 1", n)
		}
	})
}

// Keys are fetched again before they are old, and calls do not wait for that.
func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "EdDSA", "one")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		enter := func() {
			t.Helper()
			if _, err := g.Authenticate(request(one.sign(t, nil, claimSet(nil)))); err != nil {
				t.Error(err)
			}
		}
		enter()
		time.Sleep(refreshAfter - time.Second)
		enter()
		synctest.Wait()
		if n := w.times(jwksURL); n != 1 {
			t.Errorf("keys that are not old were fetched %d times, want 1", n)
		}
		time.Sleep(time.Second)
		w.set(func() { w.wait = make(chan struct{}) })
		begin := time.Now()
		for range 5 {
			enter()
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("they waited %v, want 0", took)
		}
		synctest.Wait()
		close(w.wait)
		synctest.Wait()
		if n := w.times(jwksURL); n != 2 {
			t.Errorf("old keys were fetched %d times, want 2", n)
		}
	})
}

// After a time without tokens the first call waits for keys, so that a revoked key is not accepted
// once more. If the issuer does not answer, only one call waits.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newSigner(t, "EdDSA", "one"), newSigner(t, "EdDSA", "two")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		enter := func(s signer) (*auth.Identity, error) { return g.Authenticate(request(s.sign(t, nil, claimSet(nil)))) }
		if _, err := enter(one); err != nil {
			t.Fatal(err)
		}
		w.publish(t, two.public())
		time.Sleep(expireAfter / 2)
		id, err := enter(one)
		refusedAs(t, id, err, "invalid_token", "not signed")
		if _, err := enter(two); err != nil {
			t.Error(err)
		}
		time.Sleep(expireAfter / 2)
		w.set(func() { w.silent = true })
		for _, wait := range []time.Duration{fetchTimeout, 0, 0} {
			begin := time.Now()
			if _, err := enter(two); err != nil {
				t.Errorf("an issuer that does not answer: %v", err)
			}
			if took := time.Since(begin); took != wait {
				t.Errorf("it took %v, want %v", took, wait)
			}
			time.Sleep(minInterval)
		}
		time.Sleep(fetchTimeout) // until no fetch is running
	})
}

// While an issuer cannot be reached, its keys are valid for a day, and it is not asked with every
// call.
func TestDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two := newSigner(t, "EdDSA", "one"), newSigner(t, "EdDSA", "two")
		w := newWorld(t, one.public())
		g := w.gate(t, func(o *Options) { o.JWKS = jwksURL })
		enter := func(s signer) (*auth.Identity, error) { return g.Authenticate(request(s.sign(t, nil, claimSet(nil)))) }
		begin := time.Now()
		if _, err := enter(one); err != nil {
			t.Error(err)
		}
		w.set(func() { w.down = true })
		for time.Since(begin) < expireAfter-time.Minute {
			time.Sleep(time.Minute)
			if _, err := enter(one); err != nil {
				t.Fatalf("after %v: %v", time.Since(begin), err)
			}
			synctest.Wait()
		}
		if n := w.times(jwksURL); n > 24*60 {
			t.Errorf("in a day the keys were fetched %d times, want at most %d", n, 24*60)
		}
		id, err := enter(two) // it may be a good one, for all we know
		isFault(t, id, err, "the issuer is down")
		time.Sleep(time.Minute)
		id, err = enter(one)
		isFault(t, id, err, "the issuer is down")
		n := w.times(jwksURL)
		for range 10 {
			id, err = enter(one)
			isFault(t, id, err, "the issuer is down")
		}
		if again := w.times(jwksURL); again != n {
			t.Errorf("an issuer that is down was asked %d times more, want 0", again-n)
		}
		w.set(func() { w.down = false })
		time.Sleep(minInterval)
		if _, err := enter(one); err != nil {
			t.Errorf("after the issuer is up again: %v, want no error", err)
		}
	})
}

// Waiting for an issuer has a time limit.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "EdDSA", "one")
		w := newWorld(t, one.public())
		w.silent = true
		begin := time.Now()
		id, err := w.gate(t, nil).Authenticate(request(one.sign(t, nil, claimSet(nil))))
		isFault(t, id, err, "deadline")
		if took := time.Since(begin); took != fetchTimeout {
			t.Errorf("it took %v, want %v", took, fetchTimeout)
		}
	})
}

// Revoked keys are no longer used, even if there are none left.
func TestNoKeysLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newSigner(t, "EdDSA", "one")
		w := newWorld(t, one.public())
		g := w.gate(t, nil)
		if err := g.Prefetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.set(func() { w.pages[jwksURL] = `{"keys":[]}` })
		time.Sleep(refreshAfter)
		g.Authenticate(request(one.sign(t, nil, claimSet(nil))))
		synctest.Wait()
		id, err := g.Authenticate(request(one.sign(t, nil, claimSet(nil))))
		refusedAs(t, id, err, "invalid_token", "not signed")
	})
}
