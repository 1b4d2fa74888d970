package journal

import (
	"errors"
	"os"
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
	return nil, ErrLocked // by a series of other processes
}

// Release removes the file and releases the lock.
func (l *Lock) Release() error { return release(l.file) }
