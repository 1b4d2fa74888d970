// Package child runs a program as a peer that is spoken to over its standard input and output. What it writes to its
// standard error is kept for error messages, and it is ended in an orderly way: its input is closed, and only if that does
// not make it end is it told to, and then killed, with all that it has started.
package child
