package app_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A slowStore commits when it may.
type slowStore struct {
	eventlog.Store
	commit chan struct{}
}

func (s *slowStore) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return s.Store.Write(ctx, func(tx eventlog.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		<-s.commit
		return nil
	})
}

func TestHealthDoesNotWaitForACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{eventlog.NewMemory(), make(chan struct{})}
		a := open(t, store)
		go app.DoRaw(t.Context(), a, Count{1})
		synctest.Wait() // for the command, which holds the lock
		if h := a.Health(); h.Store != "" || len(h.Features) > 0 {
			t.Errorf("Health() = %+v, want no failure", h)
		}
		close(store.commit)
		synctest.Wait()
	})
}
