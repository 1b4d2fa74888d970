package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// A turnstile lets in one who writes, of all processes that have the store open, in about the order in which they
// come. Who wants in waits at the turn, and there for the room: who has left the room finds the turn
// taken by the next one, and so nobody starves. Both are locks on files that are never removed;
// the system lets go of them when a process ends, however it ends.
type turnstile struct {
	path   string
	locker locker
	turn   *os.File // nil before the first and after a wait that was given up
	room   *os.File
}

// What the names of the two files end with.
const (
	turnSuffix = ".turn"
	roomSuffix = ".lock"
)

// errNoLocks says that the file system has no locks.
var errNoLocks = errors.New("the file system has no locks")

// open opens the files, if they are not open.
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

// enter waits until nobody else is in. If ctx ends before, its error is returned. Where
// there are no locks, the error is [errNoLocks]. One goroutine may call it at a time, and then leave.
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

	// Somebody is in, or before us.
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
		t.turn, t.room = nil, nil // they go to whoever ends the wait; the next one opens them again
		go func() {
			<-entered
			turn.Close()
			room.Close()
		}()
		return ctx.Err()
	}
}

// leave lets the next one in.
func (t *turnstile) leave() error { return t.locker.unlock(t.room) }

// close closes the files, which gives back what is held.
func (t *turnstile) close() error {
	if t.turn == nil {
		return nil
	}
	err := errors.Join(t.turn.Close(), t.room.Close())
	t.turn, t.room = nil, nil
	return err
}

// locked names the file in an error of the system.
func (t *turnstile) locked(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errNoLocks
	}
	return fmt.Errorf("waiting to write: %w", &fs.PathError{Op: "lock", Path: t.path + roomSuffix, Err: err})
}
