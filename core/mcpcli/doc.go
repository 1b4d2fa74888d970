// Package mcpcli makes the commands that speak to MCP servers from a terminal: tools, call, resources, read, prompts, prompt and
// doctor. Every program that has a command line adds them to it.
//
// A server is a name from a configuration file (see [mcpconfig]), an address, or a command after --. Where none is named, it is the one
// that the program knows best: itself, the server of the project around it, or the only one there is.
//
// What is printed is for people on a terminal, and JSON anywhere else or with --json. Text of a server never commands the
// terminal, and files that it sends never leave the folder that they are for.
//
// The statuses are those of [terminal]: 0 if it was done, 1 if the server or its tool says that it could not be done, 2 if it was asked
// for in a wrong way, 3 if the server was not reached or not understood.
package mcpcli
