//go:build unix

package handover

import (
	"os"
	"syscall"
)

// Exec replaces this process by a program. It returns only if that fails.
func Exec(program string, args []string) (int, error) {
	return 0, &os.PathError{Op: "exec", Path: program, Err: syscall.Exec(program, append([]string{"petrock"}, args...), os.Environ())}
}
