//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mcp

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// takeStdio takes the descriptors themselves, so that neither a package that
// holds on to os.Stdout nor code that is not Go can write between our messages.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	inFD, err := stdfd.Take(syscall.Stdin, int(null.Fd()))
	if err != nil {
		return nil, nil, err
	}
	outFD, err := stdfd.Take(syscall.Stdout, syscall.Stderr)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(inFD), "stdin"), os.NewFile(uintptr(outFD), "stdout"), nil
}

// outliveClient sees to it that writing to a client that is gone fails, and does not
// end the process: there are calls to finish, and standard error, where they log, may
// be gone too. The function that it returns undoes it.
func outliveClient() func() {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}
