package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app/storetest"
)

// killed returns the file of a store whose process was killed after five commits. The first two are
// in the file, the others in the WAL.
func killed(t *testing.T) string {
	t.Helper()
	s := open(t, filepath.Join(t.TempDir(), "log.db"))
	for range 5 {
		if last, err := more(s, 1); err != nil {
			t.Fatal(err)
		} else if last == 2 {
			if _, err := s.writer.value("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "log.db")
	for _, suffix := range []string{"", "-wal", lockSuffix, turnSuffix} {
		text, err := os.ReadFile(s.path + suffix)
		if err == nil {
			err = os.WriteFile(path+suffix, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// A log that has lost events is refused with a remedy. After the remedy, the store has the
// remaining events. A WAL without its file is kept.
func TestLostEvents(t *testing.T) {
	cut := func(suffix string, size int64) func(string) error {
		return func(path string) error { return os.Truncate(path+suffix, size) }
	}
	for _, test := range []struct {
		name string
		lose func(path string) error
		left int64 // events
	}{
		{"nothing", func(string) error { return nil }, 5},
		{"empty file", cut("", 0), 0},
		{"no file", os.Remove, 0},
		{"half a header", cut("", 50), -1}, // it stays damaged
		{"empty WAL", cut("-wal", 0), 2},
		{"truncated WAL", cut("-wal", 32+2*(24+4096)), 4},
		{"WAL truncated within a frame", cut("-wal", 32+4096), 2},
		{"no WAL", func(path string) error { return os.Remove(path + "-wal") }, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := killed(t)
			if err := test.lose(path); err != nil {
				t.Fatal(err)
			}
			if test.left < 5 {
				_, err := Open(t.Context(), path)
				if err == nil || !strings.Contains(err.Error(), "but event 5 was committed") || !strings.Contains(err.Error(), "remove log.db.lock") {
					t.Fatalf(`got error %v, want "but event 5 was committed" and "remove log.db.lock" in it`, err)
				}
				if test.left <= 0 {
					if _, err := os.Stat(path + "-wal"); err != nil {
						t.Error(err)
					}
				}
				os.Remove(path + lockSuffix)
			}
			if test.left < 0 {
				return
			}
			if err := storetest.Check(open(t, path), test.left); err != nil {
				t.Error(err)
			}
		})
	}
}
