package filelock_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

func TestWait(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	synctest.Test(t, func(t *testing.T) {
		held, err := filelock.WaitLock(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		begin, calls := time.Now(), 0
		time.AfterFunc(3*time.Second, func() { held.Release() })
		second, err := filelock.WaitLock(t.Context(), path, func() {
			calls++
			if waited := time.Since(begin); waited < time.Second || waited > 1100*time.Millisecond {
				t.Errorf("waiting was called after %v, want a second", waited)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begin); waited < 3*time.Second || waited > 3050*time.Millisecond {
			t.Errorf("WaitLock took %v, want three seconds", waited)
		}
		if calls != 1 {
			t.Errorf("waiting was called %d times, want 1", calls)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err = filelock.WaitLock(ctx, path, func() { t.Error("waiting was called too early") })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitLock of a held lock = %v, want DeadlineExceeded", err)
		}
		if err := second.Release(); err != nil {
			t.Fatal(err)
		}
		if _, err := filelock.WaitLock(ctx, path, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WaitLock after the deadline = %v, want DeadlineExceeded", err)
		}
		if _, err := filelock.WaitLock(t.Context(), filepath.Join(path, "no", "folder"), nil); err == nil {
			t.Error("WaitLock without a folder = nil, want an error")
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
				lock, err := filelock.WaitLock(t.Context(), path, nil)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock, want 1", n)
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
		t.Errorf("%d turns, want 40", count.Load())
	}
}
