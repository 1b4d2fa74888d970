// Package skeleton holds the Go of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds the folder base, which every project begins with.
//
//go:embed all:base
var Files embed.FS
