//go:build !unix

package userfile

import "io/fs"

// IsOwn returns true, because files on this system have no owner that is easy to compare.
func IsOwn(fs.FileInfo) bool { return true }

func othersMayWrite(fs.FileInfo) bool { return false }
