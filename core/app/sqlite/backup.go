package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Backup copies the store to a file that must not be there yet, as it is now, while others go on reading and writing. The copy
// is whole or it is not there; it can be opened as a store.
func (s *Store) Backup(ctx context.Context, path string) (err error) {
	if s.closed.Load() {
		return errClosed
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("backing up to %s: %w", path, err)
		}
	}()
	if _, err := os.Lstat(path); err == nil {
		return errors.New("there is a file already; remove it, or name another one")
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	unfinished := file.Name()
	defer os.Remove(unfinished)
	if err := file.Close(); err != nil {
		return err
	}
	c, err := connect(s.path)
	if err != nil {
		return err
	}
	err = c.with(ctx, "VACUUM INTO ?", []any{unfinished}, func(s stmt, args []driver.NamedValue) error {
		_, err := s.ExecContext(ctx, args)
		return err
	})
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	if err := persist(unfinished, os.O_RDWR); err != nil { // Windows does not do it for who may only read
		return err
	}
	err = os.Link(unfinished, path)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(unfinished, path) // there are file systems without links
	}
	if err != nil {
		return err
	}
	persist(filepath.Dir(path), os.O_RDONLY) // which some systems cannot
	return nil
}

// persist has a file, or what a folder lists, on the disk.
func persist(path string, how int) error {
	file, err := os.OpenFile(path, how, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
