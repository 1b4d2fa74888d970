package filelock

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	lockFileEx   = kernel32.NewProc("LockFileEx")
	unlockFileEx = kernel32.NewProc("UnlockFileEx")
)

const noFollow = 0 // Windows has no such flag

// lock locks the first byte of an open file. If it is locked, lock waits or returns [ErrLocked].
func lock(file *os.File, wait bool) error {
	const (
		failImmediately = 1
		exclusive       = 2

		errInvalidFunction = syscall.Errno(1) // from file systems without locks
		errLockViolation   = syscall.Errno(33)
		errNotSupported    = syscall.Errno(50)
	)
	flags := uintptr(exclusive)
	if !wait {
		flags |= failImmediately
	}
	ok, _, err := lockFileEx.Call(file.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped))))
	switch {
	case ok != 0:
		return nil
	case errors.Is(err, errLockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return ErrLocked
	case errors.Is(err, errInvalidFunction), errors.Is(err, errNotSupported):
		return errors.ErrUnsupported
	}
	return err
}

func unlock(file *os.File) error {
	ok, _, err := unlockFileEx.Call(file.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped))))
	if ok == 0 {
		return err
	}
	return nil
}
