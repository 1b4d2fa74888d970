//go:build unix && !solaris && !aix

package journal

import (
	"errors"
	"os"
	"syscall"
)

func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			break
		}
	}
	if err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK) {
		return file, nil // locked, or the file system does not support locks
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrLocked
	} else {
		err = &os.PathError{Op: "lock", Path: path, Err: err}
	}
	return nil, errors.Join(err, file.Close())
}

// release removes the file before it unlocks it, so that no other process can lock it in between.
func release(file *os.File) error {
	return errors.Join(os.Remove(file.Name()), file.Close())
}
