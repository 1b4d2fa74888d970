//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// noFollow is the flag to open no symbolic links.
const noFollow = syscall.O_NOFOLLOW

// lock locks an open file. If it is locked, lock waits or returns [ErrLocked].
func lock(file *os.File, wait bool) error {
	if wait {
		return flock(file, syscall.LOCK_EX)
	}
	return flock(file, syscall.LOCK_EX|syscall.LOCK_NB)
}

func unlock(file *os.File) error { return flock(file, syscall.LOCK_UN) }

func flock(file *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(file.Fd()), how); err {
		case syscall.EINTR:
		case syscall.EWOULDBLOCK:
			return ErrLocked
		case syscall.ENOLCK:
			return errors.ErrUnsupported
		default:
			return err
		}
	}
}
