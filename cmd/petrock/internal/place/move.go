package place

import (
	"encoding/json"
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

// mark writes down what is going to be moved. From the moment that this file is there, the next
// process finishes what this one does not.
func (p *Place) mark() error {
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

// failed is why nothing was moved: most likely somebody else was faster.
func (p *Place) failed(err error) error {
	if p.unsolved {
		return &UnfinishedError{Dir: p.dest, Err: err}
	}
	if _, _, taken := look(p.dest); taken != nil {
		return taken
	}
	return fmt.Errorf("moving it into place: %w", err)
}

// recover brings the hidden folder into order after a process that was killed: what that one
// had begun to move is moved, if all of it is still there, and the rest is removed.
func (p *Place) recover() error {
	text, err := os.ReadFile(filepath.Join(p.hidden, movingName))
	switch {
	case err == nil:
		if err := p.finish(text); err != nil {
			p.unsolved = true
			return &UnfinishedError{Dir: p.dest, Err: err}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := empty(p.hidden); err != nil {
		return fmt.Errorf("clearing away what an interrupted petrock left: %w", err)
	}
	return nil
}

// finish moves what a mark speaks of and is not moved yet. If something of it is nowhere, and
// nothing else is at the destination, somebody has given that up, and it is left to be removed.
func (p *Place) finish(mark []byte) error {
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

// An UnfinishedError says that names were being moved into a folder when that was cut short,
// and that the rest cannot be moved now. Nothing is lost: the next [Open] tries again.
type UnfinishedError struct {
	Dir string
	Err error
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("a project was being moved into %s when that was cut short, and the rest of it cannot be moved: %v; move away all that is in that folder, or what is in the way, and run it again", e.Dir, e.Err)
}

// Unwrap is what was in the way.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// moveNames moves all that is in one folder to another and returns what it has moved.
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
