package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// Who opens a store by way of a link passes the same turnstile as the others.
func TestLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "log.db"), filepath.Join(t.TempDir(), "link.db")
	s, err := Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := os.Symlink(file, link); err != nil {
		t.Logf("no links here: %v", err)
		return
	}
	other, err := Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := os.Lstat(link + ".turn"); err == nil {
		t.Error("it has a turnstile of its own")
	}
}
