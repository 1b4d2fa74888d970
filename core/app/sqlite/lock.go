package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// A turnstile lets one writer in at a time, of all processes that have the store open, in about the
// order in which they come. A writer first locks the turn, and with it waits for the room. A writer
// that leaves the room finds the turn taken by the next one, so no writer starves. Both are locks
// on files that are never removed; the operating system releases them when a process ends.
type turnstile struct {
	path   string
	locker locker
	turn   *os.File // nil when closed
	room   *os.File
	note   []byte // the name of this process, which is in a file while the process holds its lock
	wait   *wait  // the wait that goes on; nil if there is none
}

// A wait is a goroutine that waits for the room. The system call cannot be cancelled: if a caller
// gives up, the wait goes on for the next one, so that a process never has more than one.
type wait struct {
	ended chan struct{} // closed when it is over
	err   error         // why it did not enter

	mu     sync.Mutex
	wanted bool // a caller waits for it
	over   bool // it has entered, or left because no caller wanted it
	closed bool // the turnstile was closed
}

// Suffixes of the two files.
const (
	turnSuffix = ".turn"
	roomSuffix = ".lock"
)

// Position and size of the note about the holder in each file.
const (
	noteAt   = 64
	noteSize = 128
)

// errNoLocks means that the file system has no locks.
var errNoLocks = errors.New("the file system has no locks")

// newTurnstile returns the turnstile of a store.
func newTurnstile(path string) turnstile {
	program, _ := os.Executable() // the pid is enough
	host, _ := os.Hostname()
	note := make([]byte, noteSize)
	copy(note[:noteSize-1], fmt.Sprintf("process %d (%s) on %s", os.Getpid(), filepath.Base(program), host))
	return turnstile{path: path, locker: newLocker(), note: note}
}

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
// [errNoLocks]. One goroutine at a time may call enter or try, and then leave.
func (t *turnstile) enter(ctx context.Context) error {
	for {
		if t.wait == nil {
			if in, err := t.try(); in || err != nil {
				return err
			}
			t.wait = &wait{ended: make(chan struct{}), wanted: true}
			go t.wait.run(t.locker, t.turn, t.room, t.note)
		} else if !t.wait.want(true) {
			t.wait = nil // it has left
			continue
		}
		select {
		case <-t.wait.ended:
		case <-ctx.Done():
			if t.wait.want(false) {
				return ctx.Err()
			}
		}
		err := t.wait.err
		t.wait = nil
		if err != nil {
			return errors.Join(t.locked(err), t.close())
		}
		t.sign()
		return nil
	}
}

// try enters if no other writer is in or waits, and reports whether it did.
func (t *turnstile) try() (in bool, err error) {
	if err := t.open(); err != nil {
		return false, err
	}
	turn, err := t.locker.lock(t.turn, false)
	if turn {
		in, err = t.locker.lock(t.room, false)
		err = errors.Join(err, t.locker.unlock(t.turn))
	}
	if err != nil {
		return false, errors.Join(t.locked(err), t.close())
	}
	if in {
		t.sign()
	}
	return in, nil
}

// run waits for the turn and then for the room. It leaves at once if no caller wants to enter.
func (w *wait) run(l locker, turn, room *os.File, note []byte) {
	defer close(w.ended)
	_, w.err = l.lock(turn, true)
	if w.err == nil {
		turn.WriteAt(note, noteAt) // for messages only
		_, w.err = l.lock(room, true)
		erase(turn, note)
		w.err = errors.Join(w.err, l.unlock(turn))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	switch {
	case w.closed:
		turn.Close()
		room.Close()
	case !w.wanted && w.err == nil:
		w.err = l.unlock(room)
	}
}

// want sets whether a caller wants to enter. It reports false if the wait is over.
func (w *wait) want(wanted bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.over {
		w.wanted = wanted
	}
	return !w.over
}

// sign writes the name of this process into the file of the room.
func (t *turnstile) sign() { t.room.WriteAt(t.note, noteAt) }

// leave lets the next writer in.
func (t *turnstile) leave() error {
	erase(t.room, t.note)
	return t.locker.unlock(t.room)
}

// erase replaces the start of a note in a file by the zero byte at its end.
func erase(file *os.File, note []byte) { file.WriteAt(note[noteSize-1:], noteAt) }

// close closes the files, which releases the locks. A wait that goes on closes them when it ends.
func (t *turnstile) close() error {
	if t.turn == nil {
		return nil
	}
	turn, room := t.turn, t.room
	t.turn, t.room = nil, nil
	if w := t.wait; w != nil {
		t.wait = nil
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.closed = true; !w.over {
			return nil
		}
	}
	return errors.Join(turn.Close(), room.Close())
}

// holder returns the process that keeps writers waiting, as far as is known. That is the one in the
// room, or, if the room is free, the one that has the turn.
func (t *turnstile) holder() string {
	for _, suffix := range []string{roomSuffix, turnSuffix} {
		file, err := os.OpenFile(t.path+suffix, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		free, _ := t.locker.lock(file, false)
		note := make([]byte, noteSize)
		file.ReadAt(note, noteAt) // the file may be shorter
		file.Close()              // which releases the lock
		switch note, _, _ = bytes.Cut(note, []byte{0}); {
		case free:
		case len(note) > 0:
			return string(note)
		default:
			return "another process (lsof " + file.Name() + " shows which)"
		}
	}
	return "another process"
}

// locked adds the file name to an error of the operating system.
func (t *turnstile) locked(err error) error {
	if errors.Is(err, errors.ErrUnsupported) {
		return errNoLocks
	}
	return fmt.Errorf("waiting to write: %w", &fs.PathError{Op: "lock", Path: t.path + roomSuffix, Err: err})
}
