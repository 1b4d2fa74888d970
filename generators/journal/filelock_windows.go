package journal

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is what Windows answers when somebody has a file open and shares it with nobody.
const sharingViolation = syscall.Errno(32)

// open opens a file and shares it with nobody, which is a lock.
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

// release closes the file first: an open one cannot be removed. Who takes it in between keeps it.
func release(file *os.File) error {
	err := file.Close()
	if removed := os.Remove(file.Name()); !errors.Is(removed, sharingViolation) {
		err = errors.Join(err, removed)
	}
	return err
}
