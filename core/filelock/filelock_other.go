//go:build !windows && (!unix || solaris || aix)

package filelock

import (
	"errors"
	"os"
)

const noFollow = 0

func lock(*os.File, bool) error { return errors.ErrUnsupported }

func unlock(*os.File) error { return nil }
