//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mcp

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/internal/stdfd"
)

// These functions replace the file descriptors, so that neither a package that has saved os.Stdout nor
// code that is not Go can write between our messages.

func takeStdout() (*os.File, error) {
	fd, err := stdfd.Take(syscall.Stdout, syscall.Stderr)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}

func takeStdin() (*os.File, error) {
	null, err := syscall.Open(os.DevNull, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer syscall.Close(null)
	fd, err := stdfd.Take(syscall.Stdin, null)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "stdin"), nil
}

// ignoreSIGPIPE makes writes to a disconnected client, or to its standard error, fail instead of
// killing the process, so that calls can shut down properly.
func ignoreSIGPIPE() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
