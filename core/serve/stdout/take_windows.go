package stdout

import "syscall"

// take changes the handle that package os will use as standard output.
func take() uintptr {
	taken := syscall.Stdout
	syscall.Stdout = syscall.Stderr
	return uintptr(taken)
}
