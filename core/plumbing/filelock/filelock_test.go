package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

func TestOneAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := filelock.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := filelock.TryLock(path); !errors.Is(err, filelock.ErrLocked) {
		t.Fatalf("TryLock of a held lock = %v, want ErrLocked", err)
	}
	if err := first.Release(); err != nil {
		t.Fatal(err)
	}
	second, err := filelock.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
	if _, err := filelock.TryLock(filepath.Join(path, "no", "folder")); err == nil || errors.Is(err, filelock.ErrLocked) {
		t.Errorf("TryLock without a folder = %v, want the error of the system", err)
	}
}

// A holder may remove the file, and still two never hold the lock at once.
func TestRemovedFilesDoNotLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, taken atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 500 {
				lock, err := filelock.TryLock(path)
				if errors.Is(err, filelock.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				taken.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lock, want 1", n)
				}
				holders.Add(-1)
				_ = os.Remove(path) // fails on Windows
				if err := lock.Release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	t.Logf("taken %d times", taken.Load())
}

// A symbolic link instead of the lock file is refused, and no file is created at its target.
func TestNoLink(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows follows links")
	}
	dir := t.TempDir()
	elsewhere, path := filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lock")
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Skip(err)
	}
	if _, err := filelock.TryLock(path); err == nil || errors.Is(err, filelock.ErrLocked) {
		t.Errorf("TryLock of a link = %v, want the error of the system", err)
	}
	if _, err := os.Lstat(elsewhere); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Lstat of the target = %v, want ErrNotExist", err)
	}
}

// Two open files of the same path exclude each other until one is unlocked.
func TestLockFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	first, second := open(), open()
	if err := filelock.LockFile(first); errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryLockFile(second); !errors.Is(err, filelock.ErrLocked) {
		t.Errorf("TryLockFile of a locked file = %v, want ErrLocked", err)
	}
	if err := filelock.UnlockFile(first); err != nil {
		t.Fatal(err)
	}
	if err := filelock.TryLockFile(second); err != nil {
		t.Errorf("TryLockFile of an unlocked file = %v, want nil", err)
	}
}
