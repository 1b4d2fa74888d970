//go:build unix

package auth

import (
	"os"
	"syscall"
)

// copyOwner gives a file the owner, group and mode of another.
func copyOwner(to *os.File, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		if err := to.Chown(int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	return to.Chmod(info.Mode().Perm())
}
