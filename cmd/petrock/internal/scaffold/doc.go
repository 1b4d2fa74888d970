// Package scaffold makes a new project out of what petrock carries with it: as files in
// memory, the same bytes for the same answers every time. It reads and writes nothing on disk.
package scaffold
