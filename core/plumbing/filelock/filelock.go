// Package filelock locks files between processes. It is plumbing of the project's journal and of
// app/sqlite; servers do not need it.
//
// [TryLock] and [WaitLock] lock a path. [LockFile], [TryLockFile] and [UnlockFile] lock a file that
// the caller keeps open. The operating system releases both kinds of lock when the process ends,
// and they exclude other users in the same process too.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked means that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("held by another process")

// A Lock is an exclusive lock on a path.
type Lock struct{ file *os.File }

// WaitLock is [TryLock] that waits until the lock is free or ctx ends. After a second it calls
// waiting, once; waiting may be nil. The order of waiters is undefined. WaitLock polls, because a
// wait in the operating system, as in [LockFile], cannot be cancelled.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	begin := time.Now()
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		}
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		if waiting != nil && time.Since(begin) >= time.Second {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// TryLock locks a path, or returns [ErrLocked]. It creates the file, but not its folder. It refuses
// symbolic links where the system supports that. If the file system does not support locks, TryLock
// succeeds without one.
//
// Only the holder of the lock may remove the file, before it releases the lock.
func TryLock(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o644)
	if err != nil {
		return nil, err
	}
	if err := TryLockFile(file); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(err, file.Close())
	}
	// The previous holder may have removed the file: then this is a lock on a file that no other
	// process can open.
	held, heldErr := file.Stat()
	found, foundErr := os.Lstat(path)
	if heldErr != nil || foundErr != nil || !os.SameFile(held, found) {
		return nil, errors.Join(ErrLocked, file.Close())
	}
	return &Lock{file}, nil
}

// Release releases the lock. The file remains.
func (l *Lock) Release() error { return l.file.Close() }

// LockFile locks an open file, and waits for the lock. The wait cannot be cancelled. The error is
// [errors.ErrUnsupported] if the file cannot be locked. The lock ends with [UnlockFile] or when
// file is closed.
func LockFile(file *os.File) error { return lockError(file, lock(file, true)) }

// TryLockFile is [LockFile] that returns [ErrLocked] instead of waiting.
func TryLockFile(file *os.File) error { return lockError(file, lock(file, false)) }

// UnlockFile releases the lock on an open file.
func UnlockFile(file *os.File) error { return lockError(file, unlock(file)) }

// lockError adds the path to an error of the system. It keeps the errors that the callers compare.
func lockError(file *os.File, err error) error {
	if err == nil || errors.Is(err, ErrLocked) {
		return err
	}
	return &os.PathError{Op: "lock", Path: file.Name(), Err: err}
}
