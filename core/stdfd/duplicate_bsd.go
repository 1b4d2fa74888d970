//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package stdfd

import "syscall"

// Replace makes fd refer to the same open file as from.
func Replace(fd, from int) error { return syscall.Dup2(from, fd) }
