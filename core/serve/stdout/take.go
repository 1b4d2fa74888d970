//go:build !windows

package stdout

import (
	"syscall"

	"github.com/petrock/petrock/core/stdfd"
)

// take moves standard output to another descriptor. If that fails, it leaves it in place.
func take() uintptr {
	taken, err := stdfd.Take(syscall.Stdout, syscall.Stderr)
	if err != nil {
		return uintptr(syscall.Stdout)
	}
	return uintptr(taken)
}
