//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package stdfd

import (
	"fmt"
	"os"
	"syscall"
)

// These functions replace the file descriptors, which also redirects packages that have saved
// os.Stdout, child processes, and code that is not Go.

// TakeStdout returns a file for standard output, and redirects os.Stdout to standard error from
// then on. Child processes do not inherit the file.
func TakeStdout() (*os.File, error) {
	return take(syscall.Stdout, syscall.Stderr, "stdout")
}

// TakeStdin returns a file for standard input, and makes os.Stdin empty from then on. Child
// processes do not inherit the file.
func TakeStdin() (*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("redirect stdin: %w", err)
	}
	defer null.Close()
	return take(syscall.Stdin, int(null.Fd()), "stdin")
}

// take duplicates fd, and redirects fd to replacement.
func take(fd, replacement int, name string) (*os.File, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	taken, err := syscall.Dup(fd)
	if err != nil {
		return nil, fmt.Errorf("redirect %s: %w", name, err)
	}
	syscall.CloseOnExec(taken)
	if err := Replace(fd, replacement); err != nil {
		_ = syscall.Close(taken)
		return nil, fmt.Errorf("redirect %s: %w", name, err)
	}
	return os.NewFile(uintptr(taken), name), nil
}
