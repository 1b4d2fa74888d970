package journal

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is the error for a file that another process has opened exclusively.
const sharingViolation = syscall.Errno(32)

// open opens a file exclusively, which locks it.
func open(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch {
	case errors.Is(err, sharingViolation):
		return nil, ErrLocked
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// release closes the file first, because Windows does not remove open files. If another process locks it
// in between, release leaves it.
func release(file *os.File) error {
	err := file.Close()
	if removed := os.Remove(file.Name()); !errors.Is(removed, sharingViolation) {
		err = errors.Join(err, removed)
	}
	return err
}
