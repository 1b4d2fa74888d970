// Package userfile reads and writes small files that only the user can write, such as saved answers
// and cached lists.
package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrForeign is returned if another user can write the file or its folder.
var ErrForeign = errors.New("another user can write it")

// IsPrivate reports whether a file belongs to this user and no other user can write it.
func IsPrivate(info fs.FileInfo) bool { return IsOwn(info) && !othersMayWrite(info) }

// check returns [ErrForeign] if another user can write the folder of path, or its parent.
func check(path string) error {
	dir := filepath.Dir(path)
	for _, folder := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Lstat(folder)
		if err != nil {
			return err
		}
		if !info.IsDir() || !IsPrivate(info) {
			return fmt.Errorf("%s: %w", folder, ErrForeign)
		}
	}
	return nil
}

// Read returns the content of a file of at most limit bytes. It refuses a file that another user
// can write.
func Read(path string, limit int64) ([]byte, error) {
	if err := check(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !IsPrivate(info) {
		return nil, fmt.Errorf("%s: %w", path, ErrForeign)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return text, err
}

// Write atomically writes a file that only this user can read and write, and creates its folder.
func Write(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := check(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
