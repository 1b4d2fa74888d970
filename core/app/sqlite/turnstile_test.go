package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
)

// A wait that is given up releases its locks, and its turnstile can be used again.
func TestGivenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	gate := func() *turnstile {
		g := new(newTurnstile(path))
		t.Cleanup(func() { g.close() })
		return g
	}
	inside, waiting, other := gate(), gate(), gate()
	for range 3 {
		if err := inside.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- waiting.enter(ctx) }()
		for { // until it has the turn
			if err := other.open(); err != nil {
				t.Fatal(err)
			}
			took, err := other.locker.lock(other.turn, false)
			if err != nil {
				t.Fatal(err)
			}
			if !took {
				break
			}
			other.close()
			runtime.Gosched()
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("it ends with %v", err)
		}
		next := make(chan error)
		go func() { next <- waiting.enter(t.Context()) }()
		if err := inside.leave(); err != nil {
			t.Fatal(err)
		}
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		if err := waiting.leave(); err != nil {
			t.Fatal(err)
		}
		if err := other.enter(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := other.leave(); err != nil {
			t.Fatal(err)
		}
	}
}
