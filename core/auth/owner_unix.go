//go:build unix

package auth

import (
	"errors"
	"os"
	"syscall"
)

// copyOwner gives a file the owner, group and mode of another.
func copyOwner(to *os.File, from string) error {
	var stat syscall.Stat_t
	if err := syscall.Stat(from, &stat); err != nil {
		return err
	}
	return errors.Join(to.Chown(int(stat.Uid), int(stat.Gid)), to.Chmod(os.FileMode(stat.Mode&0o777)))
}
