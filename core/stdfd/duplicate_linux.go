package stdfd

import "syscall"

// duplicate lets to stand for the file behind from. Not every Linux has dup2.
func duplicate(from, to int) error { return syscall.Dup3(from, to, 0) }
