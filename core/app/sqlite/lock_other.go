//go:build !windows && (!unix || solaris || aix)

package sqlite

import (
	"errors"
	"os"
)

// A locker locks files, which this system does not support.
type locker struct{}

func newLocker() locker { return locker{} }

func (locker) lock(*os.File, bool) (locked bool, err error) { return false, errors.ErrUnsupported }

func (locker) unlock(*os.File) error { return nil }

// hasNoSpace reports false: errors differ between these systems.
func hasNoSpace(error) bool { return false }
