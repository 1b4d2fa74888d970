//go:build !unix

package handover

import (
	"errors"
	"os"
	"os/exec"
)

// Exec runs a program in place of this one, and returns its exit code.
func Exec(program string, args []string) (int, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}
