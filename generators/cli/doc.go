// Package cli offers the generators in a terminal: as the program of a project's workshop, and
// as parts for others that make a command line of their own.
package cli
