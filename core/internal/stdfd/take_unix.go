//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package stdfd duplicates and redirects standard file descriptors. It does not import package os, so
// that it can run before os is initialized.
package stdfd

import "syscall"

// Take duplicates fd, redirects fd to replacement, and returns the duplicate. Child processes do not
// inherit the duplicate.
func Take(fd, replacement int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	taken, err := syscall.Dup(fd)
	if err != nil {
		return -1, err
	}
	syscall.CloseOnExec(taken)
	if err := Replace(fd, replacement); err != nil {
		_ = syscall.Close(taken)
		return -1, err
	}
	return taken, nil
}
