package sqlite

import (
	"errors"
	"syscall"
)

// hasNoSpace reports whether an error of the system means that a file cannot grow.
func hasNoSpace(err error) bool {
	const handleDiskFull, diskFull = syscall.Errno(39), syscall.Errno(112)
	return errors.Is(err, handleDiskFull) || errors.Is(err, diskFull)
}
