package place

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Move puts what is in [Place.Dir] where it belongs. If it fails, nothing is there.
func (p *Place) Move() error {
	if !p.inside {
		if err := os.Rename(p.Dir(), p.dest); err != nil {
			return fmt.Errorf("moving it into place: %w", err)
		}
		p.moved = true
		return nil
	}
	// Names at the top are moved one by one. From the moment that this file is there, the
	// next process finishes what this one does not.
	moving := filepath.Join(p.hidden, movingName)
	if err := os.WriteFile(moving, nil, 0o644); err != nil {
		return fmt.Errorf("moving it into place: %w", err)
	}
	moved, err := moveNames(p.Dir(), p.dest)
	if err == nil {
		p.moved = true
		return os.Remove(moving)
	}
	for _, name := range moved {
		err = errors.Join(err, os.Rename(filepath.Join(p.dest, name), filepath.Join(p.Dir(), name)))
	}
	return fmt.Errorf("moving it into place: %w", errors.Join(err, os.Remove(moving)))
}

// recover brings the hidden folder into order after a process that was killed, and makes it
// ready to be filled.
func (p *Place) recover() error {
	_, err := os.Stat(filepath.Join(p.hidden, movingName))
	switch {
	case err == nil:
		if _, err := moveNames(p.Dir(), p.dest); err != nil {
			return fmt.Errorf("finishing what an interrupted petrock began: %w", err)
		}
		p.finished, p.moved = true, true
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := empty(p.hidden); err != nil {
		return fmt.Errorf("clearing away what an interrupted petrock left: %w", err)
	}
	return os.Mkdir(p.Dir(), 0o755)
}

// moveNames moves all that is in one folder to another and returns what it has moved.
func moveNames(from, to string) (moved []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		old, place := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		if _, err := os.Lstat(place); !errors.Is(err, fs.ErrNotExist) {
			return moved, &fs.PathError{Op: "move", Path: place, Err: errors.Join(fs.ErrExist, err)}
		}
		if err := os.Rename(old, place); err != nil {
			return moved, err
		}
		moved = append(moved, entry.Name())
	}
	return moved, nil
}
