package stdfd

import "syscall"

// Replace makes fd stand for the file behind from. Not every Linux has dup2.
func Replace(fd, from int) error { return syscall.Dup3(from, fd, 0) }
