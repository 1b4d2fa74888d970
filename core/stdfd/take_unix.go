//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package stdfd

import "syscall"

// Take returns a new descriptor for the file behind fd, and makes fd itself stand for the file
// behind replacement. Child processes do not inherit the new descriptor.
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
