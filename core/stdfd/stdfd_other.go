//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package stdfd

import (
	"fmt"
	"os"
)

// These systems have no dup2. The functions therefore swap the contents of os.Stdin and os.Stdout,
// not the variables, because packages may have saved the pointers, for example in a logger. An
// os.File consists of one pointer to the file itself, so that programs can overwrite an os.File
// without closing a wrong file. Code that is not Go still uses the original files.

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
