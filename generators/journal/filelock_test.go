package journal_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/petrock/petrock/generators/journal"
)

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := journal.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := journal.TryLock(path); !errors.Is(err, journal.ErrLocked) {
		t.Fatalf("the second to ask gets %v", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file stays: %v", err)
	}
	second, err := journal.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
	if _, err := journal.TryLock(filepath.Join(path, "no", "folder")); err == nil || errors.Is(err, journal.ErrLocked) {
		t.Errorf("without a folder: %v", err)
	}
}

// Each release removes the file, and still never two hold the lock.
func TestRemovedFilesDoNotLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, taken atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				lock, err := journal.TryLock(path)
				if errors.Is(err, journal.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				holders.Add(-1)
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("taken %d times", taken.Load())
}

// A link in the place of the lock is refused, and no file is created at its target.
func TestNoLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows opens what a link leads to")
	}
	dir := t.TempDir()
	elsewhere, path := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lock")
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip(err)
	}
	if _, err := journal.TryLock(path); err == nil || errors.Is(err, journal.ErrLocked) {
		t.Errorf("the lock is a link: %v", err)
	}
	if _, err := os.Lstat(elsewhere); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("where it leads: %v", err)
	}
}
