package journal

import (
	"errors"
	"os"
)

// ErrLocked says that another process, or another part of this one, holds the lock.
var ErrLocked = errors.New("held by another process")

// A Lock is held until it is released.
type Lock struct {
	file *os.File
}

// TryLock takes the lock of a path, or returns [ErrLocked] if that is not free. The file is made if
// it is not there; its folder has to be. A link is refused where the system can do that.
func TryLock(path string) (*Lock, error) {
	for range 100 {
		file, err := open(path)
		if err != nil {
			return nil, err
		}
		held, err := file.Stat()
		if err == nil {
			// Whoever held it before may have removed it meanwhile: then this is a lock on
			// a file that nobody else will find.
			if found, statErr := os.Lstat(path); statErr == nil && os.SameFile(held, found) {
				return &Lock{file: file}, nil
			}
		}
		if closeErr := file.Close(); err != nil || closeErr != nil {
			return nil, errors.Join(err, closeErr)
		}
	}
	return nil, ErrLocked // by many who come and go
}

// Release removes the file and lets go of the lock.
func (l *Lock) Release() error { return release(l.file) }
