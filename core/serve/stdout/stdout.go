// Package stdout reserves standard output for the protocol while the program starts.
//
// [mcp.Server.ServeStdio] reserves standard output when it is called. Before that, the initializer of a
// package may print something, and the client would read it as a broken message. A program that links
// this package reserves standard output earlier. Output to os.Stdout then goes to standard error. To write
// to standard output, use:
//
//	out := os.NewFile(stdout.FD(), "stdout")
//
// Go initializes a package after its imports, and otherwise in the order of import paths. This package
// imports only syscall and stdfd. In a module whose path sorts before "time", such as github.com/…, it is
// therefore initialized before package os, and before any package that can print. In a module with a
// later path, such as weather, a dependency that prints in an initializer may still come first.
package stdout

// FD returns the file descriptor of standard output, for os.NewFile.
func FD() uintptr { return fd }

var fd = take()
