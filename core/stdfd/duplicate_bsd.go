//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package stdfd

import "syscall"

// Replace makes fd stand for the file behind from.
func Replace(fd, from int) error { return syscall.Dup2(from, fd) }
