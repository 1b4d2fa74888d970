//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mcp

import "os"

// These functions replace the files behind os.Stdin and os.Stdout, also for packages that have saved
// the pointers. Code that is not Go can still write between our messages.

func takeStdout() (*os.File, error) {
	out := new(os.File)
	*out, *os.Stdout = *os.Stdout, *os.Stderr
	return out, nil
}

func takeStdin() (*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	in := new(os.File)
	*in, *os.Stdin = *os.Stdin, *null
	return in, nil
}

// ignoreSIGPIPE does nothing: this system has no SIGPIPE.
func ignoreSIGPIPE() {}
