//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mcp

import "os"

// What os.Stdin and os.Stdout stand for is changed, also for those who hold on to
// them. Code that is not Go can still write between our messages.

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

// outliveClient has nothing to do here: writing to a client that is gone just fails.
func outliveClient() {}
