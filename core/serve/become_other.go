//go:build !unix

package serve

import (
	"os"
	"os/exec"
)

// become runs a program from PATH with out as its standard output, and waits for it.
func become(out *os.File, args ...string) error {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	return cmd.Run()
}
