//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package terminal

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// Exec runs a program with out as its standard output, and returns its exit code. Ctrl-C reaches
// the program, which decides how to end; this process waits for it.
func Exec(out *os.File, program string, args ...string) (exitCode int, err error) {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	cmd := exec.Command(program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, out, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}
