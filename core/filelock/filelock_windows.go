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

// What lock does if the file is locked: a flag of LockFileEx.
const (
	block = 0
	fail  = 1
)

const exclusive = 2 // a flag of LockFileEx

// Errors of the system.
const (
	errInvalidFunction  = syscall.Errno(1)  // from file systems without locks
	errSharingViolation = syscall.Errno(32) // another process has opened the file
	errLockViolation    = syscall.Errno(33)
	errNotSupported     = syscall.Errno(50)
)

// lock locks the first byte of an open file.
func lock(file *os.File, ifLocked uintptr) error {
	ok, _, err := lockFileEx.Call(file.Fd(), exclusive|ifLocked, 0, 1, 0, uintptr(unsafe.Pointer(new(syscall.Overlapped))))
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

// open opens a file so that no process can remove it until it is closed.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, errSharingViolation) {
		return nil, ErrLocked // another process is removing the file
	}
	return file, err
}

// release closes the file first, because Windows does not remove open files. If another process
// opens it in between, release leaves it to that process.
func release(file *os.File) error {
	err := file.Close()
	removed := os.Remove(file.Name())
	if errors.Is(removed, errSharingViolation) || errors.Is(removed, os.ErrNotExist) {
		removed = nil
	}
	return errors.Join(err, removed)
}
