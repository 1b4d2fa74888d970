// Package skeleton holds the Go code of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds base, the files of every project, and example, the files that each example adds or
// replaces. Files named standin.go let an example compile here; they are not copied into projects.
//
//go:embed all:base all:example
var Files embed.FS
