//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package mcp

import "os"

// takeStdio changes what os.Stdin and os.Stdout stand for, also for those who
// hold on to them. Code that is not Go can still write between our messages.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	in, out = new(os.File), new(os.File)
	*in, *out = *os.Stdin, *os.Stdout
	*os.Stdin, *os.Stdout = *null, *os.Stderr
	return in, out, nil
}

// outliveClient has nothing to do here: writing to a client that is gone just fails.
func outliveClient() func() { return func() {} }
