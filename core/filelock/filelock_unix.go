//go:build unix && !solaris && !aix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// What lock does if the file is locked.
const (
	block = 0
	fail  = syscall.LOCK_NB
)

// lock locks an open file.
func lock(file *os.File, ifLocked int) error {
	err := flock(file, syscall.LOCK_EX|ifLocked)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return ErrLocked
	case errors.Is(err, syscall.ENOLCK):
		return errors.ErrUnsupported
	}
	return err
}

func unlock(file *os.File) error { return flock(file, syscall.LOCK_UN) }

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
}

// release removes the file before it unlocks it, so that no other process can lock it in between.
func release(file *os.File) error {
	return errors.Join(os.Remove(file.Name()), file.Close())
}
