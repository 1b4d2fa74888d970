// Package stdout reserves standard output for the protocol while the program starts.
//
// [mcp.Server.ServeStdio] takes standard output when it is called. By then the packages of the
// program have been initialised, and one of them may have printed something, which a client would
// read as a broken message. A program that links this package takes standard output earlier. From
// then on everything that is printed to os.Stdout goes to standard error, and the program itself
// writes to:
//
//	out := os.NewFile(stdout.FD(), "stdout")
//
// Go initialises a package after those that it imports, and otherwise in the order of import paths.
// This package imports only syscall and stdfd, so it is initialised before package os, and thus
// before anything that can print, in a module whose path sorts before "time": github.com/… does. In
// a module with a later path, such as weather, a dependency that prints in an initialiser may still
// come first.
package stdout

// FD returns the descriptor of what was standard output when the program began. It is meant for
// os.NewFile.
func FD() uintptr { return fd }

// fd is set when the package is initialised, which is its purpose, and never changed.
var fd = take()
