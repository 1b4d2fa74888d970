//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package stdfd

import "errors"

// Take returns [errors.ErrUnsupported].
func Take(fd, replacement int) (int, error) { return -1, errors.ErrUnsupported }

// Replace returns [errors.ErrUnsupported].
func Replace(fd, from int) error { return errors.ErrUnsupported }
