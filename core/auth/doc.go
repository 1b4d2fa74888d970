// Package auth says who calls and whether they may come in: API keys, and what is common to all ways
// of telling. How bearer tokens are checked is in a package of its own below it, which only servers that
// check them link. A server that speaks over standard input and output has no use for any of it: who
// started it is who calls.
package auth
