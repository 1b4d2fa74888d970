//go:build unix && !solaris && !aix

package sqlite

import (
	"errors"
	"syscall"
)

// hasNoSpace reports whether an error of the system means that a file cannot grow.
func hasNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}
