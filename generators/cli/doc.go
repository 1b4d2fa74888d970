// Package cli offers the generators in a terminal: as the command line of a project's own petrock, and
// as commands for other command lines.
package cli
