package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/core/app"
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
		name  string
		alone bool // as where there are no locks
	}{{"turnstile", false}, {"alone", true}} {
		t.Run(test.name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (app.Store, app.Store) {
				path := filepath.Join(t.TempDir(), "deep", "a folder", "log?#%41.db")
				first, second := open(t, path), open(t, path)
				first.alone, second.alone = test.alone, test.alone
				return first, second
			})
		})
	}
}
