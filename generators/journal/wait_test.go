package journal_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/generators/journal"
)

func TestWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		held, err := journal.WaitLock(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin, said := time.Now(), 0
		time.AfterFunc(3*time.Second, func() { held.Release() })
		second, err := journal.WaitLock(t.Context(), path, func() {
			said++
			if waited := time.Since(begin); waited < time.Second || waited > 1100*time.Millisecond {
				t.Errorf("waiting was called after %v", waited)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited < 3*time.Second || waited > 3050*time.Millisecond {
			t.Errorf("waited %v for a lock that is free after three seconds", waited)
		}
		if said != 1 {
			t.Errorf("got %d times that it waits", said)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err = journal.WaitLock(ctx, path, func() { t.Error("waiting was called too early") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("when the time is over: %v", err)
		}
		if err := second.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := journal.WaitLock(ctx, path, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the time is over: %v", err)
		}
		if _, err := journal.WaitLock(t.Context(), filepath.Join(path, "no", "folder"), nil); err == nil {
			t.Error("it takes a lock without a folder")
		}
	})
}

// Every waiter gets the lock, and never two at once.
func TestWaitTurns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var group sync.WaitGroup
	var holders, count atomic.Int32
	for range 4 {
		group.Go(func() {
			for range 10 {
				lock, err := journal.WaitLock(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				count.Add(1)
				holders.Add(-1)
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if count.Load() != 40 {
		t.Errorf("%d turns, not 40", count.Load())
	}
}
