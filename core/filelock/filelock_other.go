//go:build !windows && (!unix || solaris || aix)

package filelock

import (
	"errors"
	"os"
)

// What lock would do if the file is locked.
const (
	block = iota
	fail
)

func lock(*os.File, int) error { return errors.ErrUnsupported }

func unlock(*os.File) error { return nil }

// open creates a file that must not exist, which is the only portable lock. If the process is
// killed, the user must remove the file.
func open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, ErrLocked
	}
	return file, err
}

func release(file *os.File) error {
	return errors.Join(file.Close(), os.Remove(file.Name()))
}
