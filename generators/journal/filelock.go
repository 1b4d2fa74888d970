package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked means that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("held by another process")

// A Lock is an exclusive lock on a file. The system releases it when the process ends.
type Lock struct {
	file *os.File
}

// TryLock locks a file, or returns [ErrLocked]. It creates the file, but not its folder. Symbolic links
// are refused where the system supports that.
func TryLock(path string) (*Lock, error) {
	for range 100 {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		held, err := file.Stat()
		if err == nil {
			// The previous holder may have removed the file: then this is a lock on a file
			// that no other process can open.
			if found, statErr := os.Lstat(path); statErr == nil && os.SameFile(held, found) {
				return &Lock{file: file}, nil
			}
		}
		if closeErr := file.Close(); err != nil || closeErr != nil {
			return nil, errors.Join(err, closeErr)
		}
	}
	return nil, ErrLocked // other processes locked and removed the file each time
}

// Release removes the file and releases the lock.
func (l *Lock) Release() error { return release(l.file) }

// The pause between two attempts, and the time before WaitLock calls waiting.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 50 * time.Millisecond
	patience   = time.Second
)

// WaitLock is [TryLock] that waits until the lock is free or ctx ends. After a second it calls waiting,
// once; waiting may be nil. The order of waiters is undefined.
func WaitLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	begin := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("waiting for %s: %w", path, ctx.Err())
		}
		lock, err := TryLock(path)
		if !errors.Is(err, ErrLocked) {
			return lock, err
		}
		if waiting != nil && time.Since(begin) >= patience {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}
