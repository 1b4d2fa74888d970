//go:build !unix

package userfile

import "io/fs"

// IsOwn reports true: this system has no owners that a program can compare easily.
func IsOwn(fs.FileInfo) bool { return true }

func othersMayWrite(fs.FileInfo) bool { return false }
