//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package stdfd

import (
	"fmt"
	"os"
)

// These functions replace the files behind os.Stdin and os.Stdout, which also redirects packages
// that have saved the pointers. Code that is not Go still uses the original ones.

// TakeStdout returns a file for standard output, and redirects os.Stdout to standard error from
// then on.
func TakeStdout() (*os.File, error) {
	out := new(os.File)
	*out, *os.Stdout = *os.Stdout, *os.Stderr
	return out, nil
}

// TakeStdin returns a file for standard input, and makes os.Stdin empty from then on.
func TakeStdin() (*os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("redirect stdin: %w", err)
	}
	in := new(os.File)
	*in, *os.Stdin = *os.Stdin, *null
	return in, nil
}
