package create

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

// A destination is the folder of a new project. It is not safe for concurrent use.
type destination struct {
	dest     string         // absolute path
	hidden   string         // the hidden folder, in which the project is prepared
	made     bool           // this process created hidden
	inside   bool           // hidden is in dest, which exists and is empty
	parents  []string       // folders above dest that were created, deepest first
	lock     *filelock.Lock // on hidden
	finished bool           // openDestination finished the move of an earlier run
	moved    bool           // dest holds the project
	keep     bool           // Close must keep hidden: it has files that could not be moved
}

// A notEmptyError reports that the destination exists and is not empty.
type notEmptyError struct {
	Dir   string
	Holds []string // names in it, not all if there are many
}

func (e *notEmptyError) Error() string {
	return fmt.Sprintf("%s already exists and is not empty: it contains %s", e.Dir, strings.Join(e.Holds, ", "))
}

// checkDestination returns an error if a project cannot be created at dest. It changes nothing.
func checkDestination(dest string) error {
	_, _, err := inspect(dest)
	return err
}

// openDestination locks a destination, which must not exist or be an empty folder, and cleans up
// after runs that were killed. It fails if another run works there. The caller must close it.
func openDestination(dest string) (*destination, error) {
	dest, err := filepath.Abs(dest)
	if err != nil {
		return nil, err
	}
	exists, names, err := inspect(dest)
	if err != nil && !slices.Contains(names, hiddenName) {
		sweep(filepath.Dir(dest), "")
		return nil, err
	}
	p := &destination{dest: dest, inside: exists}
	if exists {
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

// prepare claims the hidden folder, cleans up after an earlier run, and creates the subfolders.
func (p *destination) prepare() error {
	if err := p.claim(); err != nil {
		return err
	}
	if err := p.recover(); err != nil || p.finished {
		return err
	}
	// Another run may have been faster.
	exists, _, err := inspect(p.dest)
	if err == nil && exists != p.inside {
		err = fmt.Errorf("%s was created or removed at the same time; retry", p.dest)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.Mkdir(p.Dir(), 0o755), os.Mkdir(p.Scratch(), 0o755))
}

// inspect reports whether dest exists, and the names in it. It returns an error if no project can
// be created there.
func inspect(dest string) (exists bool, names []string, err error) {
	info, err := os.Stat(dest)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(dest); err == nil {
			return false, nil, fmt.Errorf("%s is a broken symbolic link", dest)
		}
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	if !info.IsDir() {
		return false, nil, fmt.Errorf("%s already exists and is not a folder", dest)
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

// Dir returns the folder to write the project to.
func (p *destination) Dir() string { return filepath.Join(p.hidden, projectName) }

// Scratch returns a temporary folder, which [destination.Close] removes.
func (p *destination) Scratch() string { return filepath.Join(p.hidden, scratchName) }

// Dest returns the absolute path of the destination.
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
	if !p.keep {
		err = empty(p.hidden)
	}
	err = errors.Join(err, release(p.lock, p.hidden))
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

// Names of the hidden folder and its entries. Next to a destination, the name of the hidden folder
// ends with a hash of the destination's.
const (
	hiddenName  = ".petrock-new"
	lockName    = "lock"
	projectName = "project"
	scratchName = "scratch"
	movingName  = "moving" // exists while entries are moved out of the hidden folder
)

// hiddenFor returns the name of the hidden folder next to dest. Two runs with one destination use
// the same name, so that the second finds the lock of the first. Runs of different users do not,
// because they cannot remove each other's files.
func hiddenFor(dest string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(os.Getuid()) + " " + filepath.Base(dest)))
	return hiddenName + "-" + hex.EncodeToString(sum[:4])
}

// checkHidden refuses a file, a link, or a folder with third-party files that has the name of a
// hidden folder. Nothing is removed from it.
func checkHidden(hidden string) error {
	info, err := os.Lstat(hidden)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s already exists and is not a folder; move it away", hidden)
	}
	entries, err := os.ReadDir(hidden)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !slices.Contains([]string{lockName, projectName, scratchName, movingName}, entry.Name()) {
			return fmt.Errorf("%s already exists, and contains a file that petrock did not write: %s; move it away", hidden, entry.Name())
		}
	}
	return nil
}

// claim creates the hidden folder and locks it. A run that sweeps may hold the lock for a moment.
func (p *destination) claim() error {
	const tries = 50
	for try := 1; ; try++ {
		err := os.Mkdir(p.hidden, 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		p.made = p.made || err == nil
		var lock *filelock.Lock
		if err = checkHidden(p.hidden); err == nil {
			lock, err = filelock.TryLock(filepath.Join(p.hidden, lockName))
		}
		switch {
		case err == nil:
			p.lock = lock
			return nil
		case try == tries && errors.Is(err, filelock.ErrLocked):
			return fmt.Errorf("another petrock process is creating %s; wait for it, or choose another folder", p.dest)
		case try == tries || !errors.Is(err, filelock.ErrLocked) && !errors.Is(err, fs.ErrNotExist):
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// hiddenFolder matches the names of the folders that runs create.
var hiddenFolder = regexp.MustCompile(`^` + regexp.QuoteMeta(hiddenName) + `-[0-9a-f]{8}$`)

// sweep removes the hidden folders in dir that are not locked, except one. Errors are ignored.
func sweep(dir, except string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		hidden := filepath.Join(dir, entry.Name())
		if hidden == except || !hiddenFolder.MatchString(entry.Name()) || checkHidden(hidden) != nil {
			continue
		}
		lock, err := filelock.TryLock(filepath.Join(hidden, lockName))
		if err != nil {
			continue
		}
		empty(hidden)
		release(lock, hidden)
		os.Remove(hidden)
	}
}

// release removes the file of a lock and releases it. Windows removes only files that are closed.
func release(lock *filelock.Lock, hidden string) error {
	path := filepath.Join(hidden, lockName)
	removeErr := os.Remove(path)
	err := lock.Release()
	if removeErr != nil {
		os.Remove(path) // fails if another run has opened it
	}
	return err
}

// empty removes the entries of a hidden folder except its lock. It retries, because children of a
// killed process may still write there.
func empty(hidden string) error {
	var err error
	for range 5 {
		err = errors.Join(
			os.RemoveAll(filepath.Join(hidden, movingName)), // first, so that no run moves files that are being removed
			os.RemoveAll(filepath.Join(hidden, projectName)),
			os.RemoveAll(filepath.Join(hidden, scratchName)),
		)
		if err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Move moves the entries of [destination.Dir] to the destination. If it fails, none is moved.
func (p *destination) Move() error {
	if !p.inside {
		if err := os.Rename(p.Dir(), p.dest); err != nil {
			return p.moveError(err)
		}
		p.moved = true
		return nil
	}
	if err := p.mark(); err != nil {
		return fmt.Errorf("move the project into place: %w", err)
	}
	moved, err := moveNames(p.Dir(), p.dest)
	if err == nil {
		p.moved = true
		return nil
	}
	for _, name := range moved {
		if back := os.Rename(filepath.Join(p.dest, name), filepath.Join(p.Dir(), name)); back != nil {
			p.keep = true
			err = errors.Join(err, back)
		}
	}
	return p.moveError(err)
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

// moveError returns the reason why the move failed: most likely another run was faster.
func (p *destination) moveError(err error) error {
	if p.keep {
		return &unfinishedError{Dir: p.dest, Err: err}
	}
	if _, _, taken := inspect(p.dest); taken != nil {
		return taken
	}
	return fmt.Errorf("move the project into place: %w", err)
}

// recover cleans up after a run that was killed: it finishes a move that had begun, if all files
// exist, and removes the rest.
func (p *destination) recover() error {
	text, err := os.ReadFile(filepath.Join(p.hidden, movingName))
	switch {
	case err == nil:
		if err := p.finish(text); err != nil {
			p.keep = true
			return &unfinishedError{Dir: p.dest, Err: err}
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := empty(p.hidden); err != nil {
		return fmt.Errorf("clean up after an interrupted run: %w", err)
	}
	return nil
}

// finish completes the move that mark recorded. If an entry is missing and the destination is
// empty, the user has removed the project, and finish moves nothing.
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
		if _, _, err := inspect(p.dest); err == nil {
			return nil
		}
		return fmt.Errorf("%s no longer exists", filepath.Join(p.dest, name))
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
	return fmt.Sprintf("an interrupted run was moving a project into %s, and the move cannot be completed: %v; empty that folder, or move the conflicting file away, and retry", e.Dir, e.Err)
}

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
