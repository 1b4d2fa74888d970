package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A turnstile lets one writer in at a time, of all processes that have the store open, in about the
// order in which they come. A writer first locks the turn, and with it waits for the room. A writer
// that leaves the room finds the turn taken by the next one, so no writer starves. Both are locks
// on files that are never removed; the operating system releases them when a process ends.
type turnstile struct {
	path   string
	locker locker
	turn   *os.File // nil before the first wait and after a wait that was given up
	room   *os.File
}

// Suffixes of the two files.
const (
	turnSuffix = ".turn"
	roomSuffix = ".lock"
)

// errNoLocks means that the file system has no locks.
var errNoLocks = errors.New("the file system has no locks")

// open opens the files, if needed.
func (t *turnstile) open() error {
	if t.turn != nil {
		return nil
	}
	turn, err := os.OpenFile(t.path+turnSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	room, err := os.OpenFile(t.path+roomSuffix, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(err, turn.Close())
	}
	t.turn, t.room = turn, room
	return nil
}

// enter waits until no other writer is in, or until ctx ends. Without file locks, the error is
// [errNoLocks]. One goroutine at a time may call enter, and then leave.
func (t *turnstile) enter(ctx context.Context) error {
	if err := t.open(); err != nil {
		return err
	}
	turn, room := t.turn, t.room
	ours, err := t.locker.lock(turn, false)
	if ours {
		var in bool
		if in, err = t.locker.lock(room, false); in {
			return t.locker.unlock(turn)
		}
	}
	if err != nil {
		return errors.Join(t.locked(err), t.close())
	}

	// Another writer is in, or waits before this one.
	entered := make(chan error, 1)
	wait := func() {
		var err error
		if !ours {
			_, err = t.locker.lock(turn, true)
		}
		if err == nil {
			_, err = t.locker.lock(room, true)
		}
		if err == nil {
			err = t.locker.unlock(turn)
		}
		entered <- err
	}
	if ctx.Done() == nil {
		wait()
	} else {
		go wait()
	}
	select {
	case err := <-entered:
		if err != nil {
			err = errors.Join(t.locked(err), t.close())
		}
		return err
	case <-ctx.Done():
		t.turn, t.room = nil, nil // the waiting goroutine closes them; the next enter opens them again
		go func() {
			<-entered
			turn.Close()
			room.Close()
		}()
		return ctx.Err()
	}
}

// leave lets the next writer in.
func (t *turnstile) leave() error { return t.locker.unlock(t.room) }

// close closes the files, which releases the locks.
func (t *turnstile) close() error {
	if t.turn == nil {
		return nil
	}
	err := errors.Join(t.turn.Close(), t.room.Close())
	t.turn, t.room = nil, nil
	return err
}

// locked adds the file name to an error of the operating system.
func (t *turnstile) locked(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errNoLocks
	}
	return fmt.Errorf("waiting to write: %w", &fs.PathError{Op: "lock", Path: t.path + roomSuffix, Err: err})
}
