package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/filelock"
)

// A cancelled wait releases its locks, and its fairLock can be used again.
func TestCancelledWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	newLock := func() *fairLock {
		l := new(newFairLock(path))
		t.Cleanup(func() { l.close() })
		return l
	}
	holding, waiting, other := newLock(), newLock(), newLock()
	for range 3 {
		if err := holding.acquire(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- waiting.acquire(ctx) }()
		for { // until waiting has locked the turn file
			if err := other.open(); err != nil {
				t.Fatal(err)
			}
			err := filelock.TryLockFile(other.turnFile)
			if errors.Is(err, filelock.ErrLocked) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			other.close()
			runtime.Gosched()
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("acquire after cancel = %v, want context.Canceled", err)
		}
		next := make(chan error)
		go func() { next <- waiting.acquire(t.Context()) }()
		if err := holding.release(); err != nil {
			t.Fatal(err)
		}
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		if err := waiting.release(); err != nil {
			t.Fatal(err)
		}
		if err := other.acquire(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := other.release(); err != nil {
			t.Fatal(err)
		}
	}
}

// A timeout error names the owner of the lock file, or that of the turn file if the lock file is
// free. It does not name a waiting process if the owner is unknown.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, holder := open(t, path), newFairLock(path)
	s.timeout = time.Millisecond
	if err := holder.open(); err != nil {
		t.Fatal(err)
	}
	defer holder.close()
	for _, test := range []struct {
		file  *os.File
		owner string
		want  string
	}{
		{holder.lockFile, "", "because another process (lsof " + path + ".lock shows which) holds the lock; stop it"},
		{holder.lockFile, "process 7 (hello) on moon", "because process 7 (hello) on moon holds the lock; stop it"},
		{holder.turnFile, "process 8 (hello) on moon", "because process 8 (hello) on moon holds the lock; stop it"},
	} {
		if err := filelock.LockFile(test.file); err != nil {
			t.Fatal(err)
		}
		if _, err := test.file.WriteAt(append([]byte(test.owner), 0), ownerAt); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Write while the lock is held = %v, want %q", err, test.want)
		}
		if err := filelock.UnlockFile(test.file); err != nil {
			t.Fatal(err)
		}
		s.timeout = lockTimeout
		if err := s.Write(t.Context(), func(eventlog.Tx) error { return nil }); err != nil {
			t.Error(err)
		}
		s.timeout = time.Millisecond
	}
}
