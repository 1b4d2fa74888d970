//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mcp

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// The descriptors themselves are taken, so that neither a package that holds on to
// os.Stdout nor code that is not Go can write between our messages.

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

// outliveClient sees to it that writing to a client that is gone fails, and does not kill
// the process: calls are told to stop, and what they still do or log, to a standard error
// that may be gone too, is done in order.
func outliveClient() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
