// Package stdfd lets a program keep its standard input and output for itself, so that neither a
// stray fmt.Println nor a dependency that reads os.Stdin disturbs the protocol on them. Package
// serve takes standard output at the start of main; ServeStdio of package mcp takes standard input
// and, unless the program has, standard output. Output of package initializers, which run before
// main, still reaches standard output.
package stdfd
