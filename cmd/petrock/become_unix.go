//go:build unix

package main

import (
	"os"
	"syscall"
)

// become makes this process another program. It returns only if that is impossible.
func become(program string, args []string) (int, error) {
	return 0, &os.PathError{Op: "starting", Path: program, Err: syscall.Exec(program, append([]string{"petrock"}, args...), os.Environ())}
}
