//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// A locker locks files.
type locker struct{}

func newLocker() locker { return locker{} }

// lock locks an open file, and reports whether it succeeded. If wait is set, it waits.
func (locker) lock(file *os.File, wait bool) (locked bool, err error) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	switch err := flock(file, how); {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, syscall.ENOLCK):
		return false, errors.ErrUnsupported
	default:
		return false, err
	}
}

func (locker) unlock(file *os.File) error { return flock(file, syscall.LOCK_UN) }

func flock(file *os.File, how int) error {
	for {
		if err := syscall.Flock(int(file.Fd()), how); err != syscall.EINTR {
			return err
		}
	}
}

// hasNoSpace reports whether an error of the system means that a file cannot grow.
func hasNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
