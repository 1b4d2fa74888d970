package place

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

// A Place is where a folder is going to be. It is not for several goroutines.
type Place struct {
	dest     string        // where it goes, absolute
	hidden   string        // where it is prepared
	made     bool          // hidden was made by this one
	inside   bool          // hidden is in dest, which is there and empty
	parents  []string      // folders above dest that were made for it, deepest first
	lock     *journal.Lock // on hidden
	finished bool
	moved    bool // dest holds something now
	unsolved bool // hidden holds what nobody can move or remove without asking
}

// A NotEmptyError says that something is at the destination already.
type NotEmptyError struct {
	Dir   string
	Holds []string // names in it, not all if there are many
}

func (e *NotEmptyError) Error() string {
	return fmt.Sprintf("%s is there already, and is not empty: it holds %s", e.Dir, strings.Join(e.Holds, ", "))
}

// Check says whether a folder could be put at dest, as far as that can be told
// without touching anything.
func Check(dest string) error {
	_, _, err := look(dest)
	return err
}

// Open claims a place. The destination must not be there, or be an empty folder; what others
// left behind unfinished is cleared away. Somebody who is at work there at this moment is
// an error. The place has to be closed.
func Open(dest string) (*Place, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	there, names, err := look(dest)
	if err != nil && !slices.Contains(names, hiddenName) {
		sweep(filepath.Dir(dest), "")
		return nil, err
	}
	p := &Place{dest: dest, inside: there}
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

// prepare makes the hidden folder ready to be filled.
func (p *Place) prepare() error {
	if err := p.claim(); err != nil {
		return err
	}
	if err := p.recover(); err != nil || p.finished {
		return err
	}
	// Somebody may have been faster.
	there, _, err := look(p.dest)
	if err == nil && there != p.inside {
		err = fmt.Errorf("%s came or went at this moment; try again", p.dest)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(p.Dir(), 0o755), os.Mkdir(p.Scratch(), 0o755))
}

// look tells whether dest is there, and the names in it. The error says why a folder
// cannot be put there.
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
		return true, names, &NotEmptyError{Dir: dest, Holds: holds}
	}
	return true, names, nil
}

// makeParents makes the folders above dest and notes which.
func (p *Place) makeParents() error {
	for dir := filepath.Dir(p.dest); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		p.parents = append(p.parents, dir)
	}
	return os.MkdirAll(filepath.Dir(p.dest), 0o755)
}

// Dir is the folder to fill.
func (p *Place) Dir() string { return filepath.Join(p.hidden, projectName) }

// Scratch is a folder for what is needed on the way. It vanishes with [Place.Close].
func (p *Place) Scratch() string { return filepath.Join(p.hidden, scratchName) }

// Dest is where the folder goes, as an absolute path.
func (p *Place) Dest() string { return p.dest }

// Finished reports whether Open has finished what an earlier process had begun to move, so
// that the destination holds what that one prepared.
func (p *Place) Finished() bool { return p.finished }

// Close gives the place up. What was not moved is removed.
func (p *Place) Close() error {
	if p.lock == nil {
		if p.made {
			os.Remove(p.hidden) // unless somebody else has claimed it by now
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
	os.Remove(p.hidden) // unless somebody else has claimed it by now
	p.removeParents()
	return err
}

func (p *Place) removeParents() {
	if p.moved {
		return
	}
	for _, dir := range p.parents {
		os.Remove(dir) // unless somebody else has put something there
	}
}
