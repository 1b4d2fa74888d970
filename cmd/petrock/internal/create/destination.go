package create

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/petrock/petrock/generators/journal"
)

// A destination is the folder of a new project. It is not safe for concurrent use.
type destination struct {
	dest     string        // absolute path
	hidden   string        // the hidden folder, in which the project is prepared
	made     bool          // this process created hidden
	inside   bool          // hidden is in dest, which exists and is empty
	parents  []string      // folders above dest that were created, deepest first
	lock     *journal.Lock // on hidden
	finished bool          // openDestination finished the move of an earlier run
	moved    bool          // dest holds the project
	unsolved bool          // hidden holds files that can be neither moved nor removed
}

// A notEmptyError reports that the destination exists and is not empty.
type notEmptyError struct {
	Dir   string
	Holds []string // names in it, not all if there are many
}

func (e *notEmptyError) Error() string {
	return fmt.Sprintf("%s is there already, and is not empty: it holds %s", e.Dir, strings.Join(e.Holds, ", "))
}

// checkDestination reports why a project cannot be created at dest. It changes nothing.
func checkDestination(dest string) error {
	_, _, err := look(dest)
	return err
}

// openDestination locks a destination, which must not exist or be an empty folder, and cleans up
// after runs that were killed. It fails if another run works there. The caller must close it.
func openDestination(dest string) (*destination, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	there, names, err := look(dest)
	if err != nil && !slices.Contains(names, hiddenName) {
		sweep(filepath.Dir(dest), "")
		return nil, err
	}
	p := &destination{dest: dest, inside: there}
	if there {
		p.hidden = filepath.Join(dest, hiddenName)
	} else {
		p.hidden = filepath.Join(filepath.Dir(dest), hiddenFor(dest))
		if err := p.makeParents(); err != nil {
			return nil, err
		}
		sweep(filepath.Dir(dest), p.hidden)
	}
	if err := p.prepare(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// prepare creates the hidden folder.
func (p *destination) prepare() error {
	if err := p.claim(); err != nil {
		return err
	}
	if err := p.recover(); err != nil || p.finished {
		return err
	}
	// Another run may have been faster.
	there, _, err := look(p.dest)
	if err == nil && there != p.inside {
		err = fmt.Errorf("%s came or went at this moment; try again", p.dest)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(p.Dir(), 0o755), os.Mkdir(p.Scratch(), 0o755))
}

// look reports whether dest exists, and the names in it. The error says why no project can be
// created there.
func look(dest string) (there bool, names []string, err error) {
	info, err := os.Stat(dest)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dest); err == nil {
			return false, nil, fmt.Errorf("%s is a link that leads nowhere", dest)
		}
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if !info.IsDir() {
		return false, nil, fmt.Errorf("%s is there already, and is not a folder", dest)
	}
	entries, err := os.ReadDir(dest)
	if err != nil {
		return false, nil, err
	}
	holds := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
		if entry.Name() != hiddenName {
			holds = append(holds, entry.Name())
		}
	}
	if len(holds) > 0 {
		if len(holds) > 3 {
			holds = append(holds[:3], "…")
		}
		return true, names, &notEmptyError{Dir: dest, Holds: holds}
	}
	return true, names, nil
}

// makeParents creates the folders above dest, and remembers which.
func (p *destination) makeParents() error {
	for dir := filepath.Dir(p.dest); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		p.parents = append(p.parents, dir)
	}
	return os.MkdirAll(filepath.Dir(p.dest), 0o755)
}

// Dir is the folder to fill.
func (p *destination) Dir() string { return filepath.Join(p.hidden, projectName) }

// Scratch is a temporary folder. [destination.Close] removes it.
func (p *destination) Scratch() string { return filepath.Join(p.hidden, scratchName) }

// Dest is the absolute path of the destination.
func (p *destination) Dest() string { return p.dest }

// Finished reports whether openDestination has finished the move of an earlier run, so that the
// destination holds the project of that run.
func (p *destination) Finished() bool { return p.finished }

// Close unlocks the destination, and removes files that were not moved.
func (p *destination) Close() error {
	if p.lock == nil {
		if p.made {
			os.Remove(p.hidden) // fails if another run has claimed it
		}
		p.removeParents()
		return nil
	}
	var err error
	if !p.unsolved {
		err = empty(p.hidden)
	}
	err = errors.Join(err, p.lock.Release())
	p.lock = nil
	os.Remove(p.hidden) // fails if another run has claimed it
	p.removeParents()
	return err
}

func (p *destination) removeParents() {
	if p.moved {
		return
	}
	for _, dir := range p.parents {
		os.Remove(dir) // fails if it is not empty
	}
}
