package sqlite

import (
	"errors"
	"os"
	"syscall"
	"unsafe"
)

// A locker locks files.
type locker struct{ lockFile, unlockFile *syscall.LazyProc }

func newLocker() locker {
	kernel := syscall.NewLazyDLL("kernel32.dll")
	return locker{lockFile: kernel.NewProc("LockFileEx"), unlockFile: kernel.NewProc("UnlockFileEx")}
}

// Arguments and errors of LockFileEx.
const (
	failImmediately = 1
	exclusive       = 2

	errLockViolation   = syscall.Errno(33)
	errInvalidFunction = syscall.Errno(1) // from file systems without locks
	errNotSupported    = syscall.Errno(50)
)

// lock locks an open file, and reports whether it succeeded. If wait is set, it waits.
func (l locker) lock(file *os.File, wait bool) (locked bool, err error) {
	flags := uintptr(exclusive)
	if !wait {
		flags |= failImmediately
	}
	ok, _, err := l.lockFile.Call(file.Fd(), flags, 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped))))
	switch {
	case ok != 0:
		return true, nil
	case errors.Is(err, errLockViolation), errors.Is(err, syscall.ERROR_IO_PENDING):
		return false, nil
	case errors.Is(err, errInvalidFunction), errors.Is(err, errNotSupported):
		return false, errors.ErrUnsupported
	default:
		return false, err
	}
}

func (l locker) unlock(file *os.File) error {
	if ok, _, err := l.unlockFile.Call(file.Fd(), 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped)))); ok == 0 {
		return err
	}
	return nil
}

// hasNoSpace reports whether an error of the system means that a file cannot grow.
func hasNoSpace(err error) bool {
	const handleDiskFull, diskFull = syscall.Errno(39), syscall.Errno(112)
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)
}
