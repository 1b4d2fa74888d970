package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// Answered writes are on the disk, on every system.
func TestDurable(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for pragma, want := range map[string]int64{"synchronous": 2, "fullfsync": 1} {
		if is, err := s.writer.value("PRAGMA " + pragma); err != nil || is != want {
			t.Errorf("%s is %d, %v; want %d and no error", pragma, is, err, want)
		}
	}
}

// A store opened through a symbolic link uses the same lock files.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "log.db"), filepath.Join(t.TempDir(), "link.db")
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Symlink(file, link); err != nil {
		t.Logf("symbolic links are not supported: %v", err)
		return
	}
	other, err := Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Lstat(link + ".turn"); err == nil {
		t.Errorf("the link has its own lock file %s.turn", link)
	}
}
