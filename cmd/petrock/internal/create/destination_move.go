package create

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Move moves the entries of [destination.Dir] to the destination. If it fails, none is moved.
func (p *destination) Move() error {
	if !p.inside {
		if err := os.Rename(p.Dir(), p.dest); err != nil {
			return p.failed(err)
		}
		p.moved = true
		return nil
	}
	if err := p.mark(); err != nil {
		return fmt.Errorf("moving it into place: %w", err)
	}
	moved, err := moveNames(p.Dir(), p.dest)
	if err == nil {
		p.moved = true
		return nil
	}
	for _, name := range moved {
		if back := os.Rename(filepath.Join(p.dest, name), filepath.Join(p.Dir(), name)); back != nil {
			p.unsolved = true
			err = errors.Join(err, back)
		}
	}
	return p.failed(err)
}

// mark records the names to be moved. Once the file exists, the next run finishes the move if this
// one is killed.
func (p *destination) mark() error {
	entries, err := os.ReadDir(p.Dir())
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	text, err := json.Marshal(names)
	if err != nil {
		return err
	}
	draft := filepath.Join(p.Scratch(), movingName)
	if err := os.WriteFile(draft, text, 0o644); err != nil {
		return err
	}
	return os.Rename(draft, filepath.Join(p.hidden, movingName))
}

// failed returns why the move failed: most likely another run was faster.
func (p *destination) failed(err error) error {
	if p.unsolved {
		return &unfinishedError{Dir: p.dest, Err: err}
	}
	if _, _, taken := look(p.dest); taken != nil {
		return taken
	}
	return fmt.Errorf("moving it into place: %w", err)
}

// recover cleans up after a run that was killed: it finishes a move that had begun, if all files
// exist, and removes the rest.
func (p *destination) recover() error {
	text, err := os.ReadFile(filepath.Join(p.hidden, movingName))
	switch {
	case err == nil:
		if err := p.finish(text); err != nil {
			p.unsolved = true
			return &unfinishedError{Dir: p.dest, Err: err}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := empty(p.hidden); err != nil {
		return fmt.Errorf("clearing away what an interrupted petrock left: %w", err)
	}
	return nil
}

// finish moves the names of a mark that are not moved yet. If one of them is gone and the destination
// is empty, the user has removed it, and the rest is left to be removed.
func (p *destination) finish(mark []byte) error {
	var names []string
	if err := json.Unmarshal(mark, &names); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(p.hidden, movingName), err)
	}
	for _, name := range names {
		_, waiting := os.Lstat(filepath.Join(p.Dir(), name))
		_, moved := os.Lstat(filepath.Join(p.dest, name))
		if waiting == nil || moved == nil {
			continue
		}
		if _, _, err := look(p.dest); err == nil {
			return nil
		}
		return fmt.Errorf("%s is gone", filepath.Join(p.dest, name))
	}
	if _, err := moveNames(p.Dir(), p.dest); err != nil {
		return err
	}
	p.finished, p.moved = true, true
	return nil
}

// An unfinishedError reports that a move was interrupted and cannot be finished now. Nothing is
// lost: the next [openDestination] retries.
type unfinishedError struct {
	Dir string
	Err error
}

func (e *unfinishedError) Error() string {
	return fmt.Sprintf("a project was being moved into %s when that was cut short, and the rest of it cannot be moved: %v; move away all that is in that folder, or what is in the way, and run it again", e.Dir, e.Err)
}

// Unwrap is the cause.
func (e *unfinishedError) Unwrap() error { return e.Err }

// moveNames moves the entries of one folder to another, and returns the names that it moved.
func moveNames(from, to string) (moved []string, err error) {
	entries, err := os.ReadDir(from)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
