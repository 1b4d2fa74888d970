//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package stdfd

import "syscall"

// duplicate lets to stand for the file behind from.
func duplicate(from, to int) error { return syscall.Dup2(from, to) }
