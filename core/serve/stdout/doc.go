// Package quiet keeps standard output for the protocol from the first moment on.
//
// [mcp.Server.ServeStdio] takes standard output when it is called. By then, the
// packages of the program have been initialised, and one of them may have printed
// something, which a client would take for a broken message. A main package that
// imports quiet takes it earlier: whatever is printed from then on, by anyone, goes
// to standard error, and only main knows where standard output is:
//
//	func main() {
//		out := os.NewFile(quiet.Stdout(), "stdout")
//		…
//		err := server.ServeStdio(ctx, out)
//	}
//
// os.Stdout is standard error then, for main too: whatever it wants to say there, such as
// a help text, it writes to out.
//
// Go initialises a package after those that it imports, and otherwise in the order of
// their paths. quiet imports next to nothing, so that it comes before package os, and so
// before anything that can print, in a module whose path sorts before "time":
// github.com/… does. In a module with a later path, such as one called weather, a
// dependency that prints while it is initialised may still come first.
//
// Only a main package should import it: in a test, say, standard output is wanted.
package stdout
