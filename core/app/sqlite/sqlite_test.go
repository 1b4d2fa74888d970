package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// open opens the store in a file.
func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	for _, test := range []struct {
		name        string
		noFileLocks bool
	}{{"file locks", false}, {"no file locks", true}} {
		t.Run(test.name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (eventlog.Store, eventlog.Store) {
				path := filepath.Join(t.TempDir(), "deep", "a folder", "log?#%41.db")
				first, second := open(t, path), open(t, path)
				if test.noFileLocks {
					forgetFileLocks(t, first)
					forgetFileLocks(t, second)
				}
				return first, second
			})
		})
	}
}

// forgetFileLocks makes a store work as on a file system without file locks: without the lock, and
// without the counter, which only the holder of the lock may change.
func forgetFileLocks(t *testing.T, s *Store) {
	t.Helper()
	if err := s.count.close(); err != nil {
		t.Fatal(err)
	}
	s.noFileLocks, s.count.file = true, nil
}
