//go:build unix

package userfile

import (
	"io/fs"
	"os"
	"syscall"
)

// IsOwn reports whether a file belongs to this user.
func IsOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(stat.Uid) == int64(os.Geteuid())
}

func othersMayWrite(info fs.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
