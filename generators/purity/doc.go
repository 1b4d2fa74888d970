// Package purity finds what may give another state when a log is read again: applying a command depends
// on the state, the command and its entry alone, and so has no clock, no randomness and no I/O in it.
//
// It follows the methods Apply and Upgrade of features, and their functions NewState and Map,
// through the functions of the project that they refer to, as far as these can be told from the
// source: not through interfaces, fields that hold functions, or the code of other modules. What it
// says is where it is, the way there, and the way out. A directive in the doc comment of a function
// says that it is all right, and why:
//
//	//petrock:pure it only fills a cache
package purity
