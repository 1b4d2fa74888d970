// Package skeleton holds the Go of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds the folder base, which every project begins with, and the folder example with what examples put over it. Files called
// standin.go let the files of an example compile here; projects do not get them.
//
//go:embed all:base all:example
var Files embed.FS
