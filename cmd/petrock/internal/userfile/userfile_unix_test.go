//go:build unix

package userfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/cmd/petrock/internal/userfile"
)

func TestFiles(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "petrock", "things", "one")
	if err := userfile.Write(file, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if text, err := userfile.Read(file, 4); err != nil || string(text) != "text" {
		t.Errorf(`Read() = %q, %v; want "text" and no error`, text, err)
	}
	if _, err := userfile.Read(file, 3); err == nil {
		t.Error("a file that is too large is read")
	}
	if info, err := os.Stat(file); err != nil {
		t.Error(err)
	} else if info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, want %v", info.Mode().Perm(), os.FileMode(0o600))
	}
	// A file, or a folder, that others may write is neither read nor written.
	for _, path := range []string{file, filepath.Dir(file), filepath.Join(base, "petrock")} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, info.Mode().Perm()|0o002); err != nil {
			t.Fatal(err)
		}
		if _, err := userfile.Read(file, 10); !errors.Is(err, userfile.ErrForeign) {
			t.Errorf("Read with %s writable by others: %v, want %v", path, err, userfile.ErrForeign)
		}
		if err := userfile.Write(file+"2", nil); info.IsDir() && !errors.Is(err, userfile.ErrForeign) {
			t.Errorf("%s is writable by others: Write() = %v, want %v", path, err, userfile.ErrForeign)
		}
		if err := os.Chmod(path, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(filepath.Dir(file), "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if _, err := userfile.Read(link, 10); !errors.Is(err, userfile.ErrForeign) {
		t.Errorf("Read of a link: %v, want %v", err, userfile.ErrForeign)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(file, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := userfile.Read(file, 10); !errors.Is(err, userfile.ErrForeign) {
			t.Errorf("Read of another user's file: %v, want %v", err, userfile.ErrForeign)
		}
	}
}
