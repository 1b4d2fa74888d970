package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/petrock/petrock/core/plumbing/filelock"
)

// A fairLock admits one writer at a time, of all processes, in about the order in which they
// arrive. A writer first locks the turn file, and waits for the lock file while it holds the turn
// file. So the next writer is known before the current one releases the lock, and no writer
// starves. The files are never removed. The operating system releases the locks when a process
// ends.
type fairLock struct {
	path     string   // of the store
	turnFile *os.File // nil when closed
	lockFile *os.File
	owner    []byte // name of this process, written to each file while the process has locked it
	wait     *wait  // nil unless a goroutine waits
}

// A wait is a goroutine that waits for the lock. Its system call cannot be cancelled. If the caller
// gives up, the wait continues for the next caller, so a process never has more than one.
type wait struct {
	ended chan struct{} // closed when run returns
	err   error         // why the lock was not acquired

	mu     sync.Mutex
	wanted bool // a caller waits for the lock
	over   bool // the system call has returned
	closed bool // the fairLock was closed
}

// Suffixes of the two files.
const (
	turnSuffix = ".turn"
	lockSuffix = ".lock"
)

// Position and size of the owner's name in each file.
const (
	ownerAt   = 64
	ownerSize = 128
)

var errNoLocks = errors.New("the file system does not support file locks")

// newFairLock returns the lock of a store.
func newFairLock(path string) fairLock {
	program, _ := os.Executable() // optional
	host, _ := os.Hostname()
	owner := make([]byte, ownerSize)
	copy(owner[:ownerSize-1], fmt.Sprintf("process %d (%s) on %s", os.Getpid(), filepath.Base(program), host))
	return fairLock{path: path, owner: owner}
}

// open opens the files, if needed.
func (l *fairLock) open() error {
	if l.turnFile != nil {
		return nil
	}
	turn, err := os.OpenFile(l.path+turnSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(l.path+lockSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(err, turn.Close())
	}
	l.turnFile, l.lockFile = turn, lock
	return nil
}

// acquire waits for the lock until ctx ends. If files cannot be locked, the error is [errNoLocks].
// One goroutine at a time may call acquire or tryAcquire, and then release.
func (l *fairLock) acquire(ctx context.Context) error {
	for {
		if l.wait == nil {
			if acquired, err := l.tryAcquire(); acquired || err != nil {
				return err
			}
			l.wait = &wait{ended: make(chan struct{}), wanted: true}
			go l.wait.run(l.turnFile, l.lockFile, l.owner)
		} else if !l.wait.setWanted(true) {
			l.wait = nil // it has ended
			continue
		}
		select {
		case <-l.wait.ended:
		case <-ctx.Done():
			if l.wait.setWanted(false) {
				return ctx.Err()
			}
		}
		err := l.wait.err
		l.wait = nil
		if err != nil {
			return errors.Join(err, l.close())
		}
		l.writeOwner()
		return nil
	}
}

// tryAcquire acquires the lock if no other writer has it or waits for it, and reports whether it
// did.
func (l *fairLock) tryAcquire() (acquired bool, err error) {
	if err := l.open(); err != nil {
		return false, err
	}
	err = filelock.TryLockFile(l.turnFile)
	if err == nil {
		err = filelock.TryLockFile(l.lockFile)
		if unlockErr := filelock.UnlockFile(l.turnFile); unlockErr != nil {
			err = unlockErr
		}
	}
	switch {
	case errors.Is(err, filelock.ErrLocked):
		return false, nil
	case err != nil:
		return false, errors.Join(lockError(err), l.close())
	}
	l.writeOwner()
	return true, nil
}

// run acquires the lock. If no caller wants it any longer, it releases it.
func (w *wait) run(turn, lock *os.File, owner []byte) {
	defer close(w.ended)
	w.err = lockError(filelock.LockFile(turn))
	if w.err == nil {
		turn.WriteAt(owner, ownerAt) // for messages only
		err := filelock.LockFile(lock)
		clearOwner(turn)
		w.err = errors.Join(lockError(err), lockError(filelock.UnlockFile(turn)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	switch {
	case w.closed:
		turn.Close()
		lock.Close()
	case !w.wanted && w.err == nil:
		w.err = lockError(filelock.UnlockFile(lock))
	}
}

// setWanted sets whether a caller waits for the lock. It reports false if the wait is over.
func (w *wait) setWanted(wanted bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.wanted = wanted
	}
	return !w.over
}

// writeOwner writes the name of this process into the lock file.
func (l *fairLock) writeOwner() { l.lockFile.WriteAt(l.owner, ownerAt) }

func (l *fairLock) release() error {
	clearOwner(l.lockFile)
	return filelock.UnlockFile(l.lockFile)
}

// clearOwner overwrites the start of the owner's name in a file with a zero byte.
func clearOwner(file *os.File) { file.WriteAt([]byte{0}, ownerAt) }

// close closes the files, which releases the locks. A running wait closes them when it ends.
func (l *fairLock) close() error {
	if l.turnFile == nil {
		return nil
	}
	turn, lock := l.turnFile, l.lockFile
	l.turnFile, l.lockFile = nil, nil
	if w := l.wait; w != nil {
		l.wait = nil
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closed = true
		if !w.over {
			return nil
		}
	}
	return errors.Join(turn.Close(), lock.Close())
}

// holder returns the name of the process that keeps writers waiting, if it is known: the owner of
// the lock file, or, if that is free, of the turn file.
func (l *fairLock) holder() string {
	for _, suffix := range []string{lockSuffix, turnSuffix} {
		file, err := os.OpenFile(l.path+suffix, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		free := filelock.TryLockFile(file) == nil
		owner := make([]byte, ownerSize)
		file.ReadAt(owner, ownerAt) // the file may be shorter
		file.Close()                // which releases the lock
		switch owner, _, _ = bytes.Cut(owner, []byte{0}); {
		case free:
		case len(owner) > 0:
			return string(owner)
		default:
			return "another process (lsof " + file.Name() + " shows which)"
		}
	}
	return "another process"
}

// lockError returns errNoLocks if files cannot be locked, and otherwise adds what was tried to err,
// which may be nil.
func lockError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errors.ErrUnsupported):
		return errNoLocks
	}
	return fmt.Errorf("wait to write: %w", err)
}
