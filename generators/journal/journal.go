package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Names of what is in the project's root and below it.
const (
	stateDir      = ".petrock"
	lockFile      = stateDir + "/lock"
	ignoreFile    = stateDir + "/.gitignore"
	pendingFile   = stateDir + "/pending.json"
	stagedFile    = stateDir + "/staged"
	objectsDir    = stateDir + "/objects"
	operationsDir = stateDir + "/operations"
)

// Options say how a journal is opened.
type Options struct {
	// Waiting is called once if another process has held the journal for a second. It may be nil.
	Waiting func()

	step func(what, path string) error // asked before each step on the disk, if it is there
}

// A Journal is a project that nobody else changes through a journal until it is closed. It is
// not for several goroutines.
type Journal struct {
	root      *os.Root
	lock      *Lock
	recovered string
	step      func(what, path string) error
}

// Open takes the project whose root is dir, waiting for whoever holds it until ctx ends, and
// finishes or takes back what an interrupted process left: see [Journal.Recovered]. The folder
// .petrock is made if it is not there. Who opens a journal twice waits for himself.
func Open(ctx context.Context, dir string, o Options) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the project: %w", err)
	}
	j := &Journal{root: root, step: o.step}
	opened := false
	defer func() {
		if !opened {
			j.Close()
		}
	}()
	if err := j.prepare(ctx, o.Waiting); err != nil {
		return nil, err
	}
	if err := j.recover(); err != nil {
		return nil, err
	}
	opened = true
	return j, nil
}

// prepare makes the folder .petrock ready, under its lock.
func (j *Journal) prepare(ctx context.Context, waiting func()) error {
	if err := j.makeFolder(stateDir, 0o755); err != nil {
		return err
	}
	lock, err := WaitLock(ctx, filepath.Join(j.root.Name(), filepath.FromSlash(lockFile)), waiting)
	if err != nil {
		return fmt.Errorf("taking the project's lock: %w", err)
	}
	j.lock = lock
	if err := errors.Join(j.makeFolder(objectsDir, 0o700), j.makeFolder(operationsDir, 0o755)); err != nil {
		return err
	}
	if err := j.remove(stagedFile); err != nil {
		return fmt.Errorf("clearing away what an interrupted process left: %w", err)
	}
	if _, err := j.root.Lstat(ignoreFile); errors.Is(err, fs.ErrNotExist) {
		return j.put(ignoreFile, []byte("*\n"), 0, false)
	}
	return nil
}

// Close lets others have the project.
func (j *Journal) Close() error {
	var err error
	if j.lock != nil {
		err = j.lock.Release()
		j.lock = nil
	}
	return errors.Join(err, j.root.Close())
}

// Interrupted reports whether an operation on the project in root was interrupted, or is being applied
// right now. The next [Open] sees to it.
func Interrupted(root *os.Root) bool {
	_, err := root.Lstat(pendingFile)
	return err == nil
}

// Root is the project's root. It is closed with the journal.
func (j *Journal) Root() *os.Root { return j.root }

// Recovered is one sentence about the operation that [Open] found interrupted: what it did with
// it, and what to look at. It is empty if there was none.
func (j *Journal) Recovered() string { return j.recovered }
