// Package skeleton holds the Go of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds the folder base, which every project begins with, and the folder example, with what examples put over it.
//
//go:embed all:base all:example
var Files embed.FS
