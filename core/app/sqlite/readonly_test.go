package sqlite

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/storetest"
)

// readTypes returns the types of a store as text, without changing the store.
func readTypes(t *testing.T, path string) string {
	t.Helper()
	text := ""
	err := ReadOnly(t.Context(), path, func(v eventlog.TypeView) error {
		types, err := app.StoredTypes(v)
		text = fmt.Sprint(types)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A closed store is read without any other file, even in a folder that cannot be written.
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "log?#%41.db")
	s := open(t, path)
	if _, err := storetest.Append(s, 3); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Remove(path+lockSuffix), os.Remove(path+turnSuffix), os.Chmod(path, 0o400), os.Chmod(dir, 0o500)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if got := readTypes(t, path); got != "[{things/make 1 3 1 3}]" {
		t.Errorf("got types %s, want \"[{things/make 1 3 1 3}]\"", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("got files %v, %v; want one", entries, err)
	}
}

// The events of a server that runs, or was killed, are read from its WAL, which stays as it is. A
// writer that holds all locks is not waited for.
func TestReadOnlyWAL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s := open(t, path)
	if _, err := storetest.Append(s, 2); err != nil {
		t.Fatal(err)
	}
	hash := func(path string) string {
		text, err := os.ReadFile(path)
		wal, walErr := os.ReadFile(path + "-wal")
		if err := errors.Join(err, walErr); err != nil || len(wal) == 0 {
			t.Fatal(len(wal), err)
		}
		return fmt.Sprintf("%x %x", sha256.Sum256(text), sha256.Sum256(wal))
	}
	before := hash(path)
	err := s.Write(t.Context(), func(tx eventlog.Tx) error {
		if err := errors.Join(tx.Append(storetest.Record(3)), s.writer.exec("BEGIN EXCLUSIVE")); err != nil {
			return err
		}
		if got := readTypes(t, path); got != "[{things/make 1 2 1 2}]" {
			t.Errorf("got types %s, want \"[{things/make 1 2 1 2}]\"", got)
		}
		return errors.Join(s.writer.exec("ROLLBACK"), context.Canceled)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	killed := filepath.Join(t.TempDir(), "log.db") // as a killed server leaves it
	for _, suffix := range []string{"", "-wal"} {
		text, err := os.ReadFile(path + suffix)
		if err := errors.Join(err, os.WriteFile(killed+suffix, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if got := readTypes(t, killed); got != "[{things/make 1 2 1 2}]" {
		t.Errorf("got types %s, want \"[{things/make 1 2 1 2}]\"", got)
	}
	for _, path := range []string{path, killed} {
		if got := hash(path); got != before {
			t.Errorf("%s has the hash %v after reading, want %v as before", path, got, before)
		}
	}
}

// A store that does not exist is not created.
func TestReadOnlyMissing(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "log.db"), filepath.Join(dir, "no", "log.db")} {
		if err := ReadOnly(t.Context(), path, nil); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: got error %v, want fs.ErrNotExist", path, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("got files %v, want none: %v", entries, err)
	}
}

// If a process opens the store while it is read, it is read again.
func TestReadOnlyTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	if err := open(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	counts := []int{}
	err := ReadOnly(t.Context(), path, func(v eventlog.TypeView) error {
		types, err := v.Types(0)
		counts = append(counts, len(types))
		if len(counts) == 1 {
			_, appendErr := storetest.Append(open(t, path), 1)
			err = errors.Join(err, appendErr)
		}
		return err
	})
	if err != nil || fmt.Sprint(counts) != "[0 1]" {
		t.Errorf("got %v types, want \"[0 1]\": %v", counts, err)
	}
}
