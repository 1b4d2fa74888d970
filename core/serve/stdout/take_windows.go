package stdout

import "syscall"

// take changes what package os will take for standard output.
func take() uintptr {
	taken := syscall.Stdout
	syscall.Stdout = syscall.Stderr
	return uintptr(taken)
}
