//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package stdfd

import "errors"

// Take is not available on this system.
func Take(fd, replacement int) (int, error) { return -1, errors.ErrUnsupported }

// Replace is not available on this system.
func Replace(fd, from int) error { return errors.ErrUnsupported }
