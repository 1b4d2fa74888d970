//go:build !windows && (!unix || solaris || aix)

package journal

import (
	"errors"
	"os"
)

// open makes a file that must not be there yet, which is all that these systems have in
// common: a process that is killed leaves it behind, and it has to be removed by hand.
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
