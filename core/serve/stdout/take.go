//go:build !windows

package stdout

import (
	"syscall"

	"github.com/petrock/petrock/core/internal/stdfd"
)

// take moves standard output to another descriptor. On failure, standard output stays where it is.
func take() uintptr {
	taken, err := stdfd.Take(syscall.Stdout, syscall.Stderr)
	if err != nil {
		return uintptr(syscall.Stdout)
	}
	return uintptr(taken)
}
