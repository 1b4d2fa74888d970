// Package skeleton holds the Go of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds the folder base, which every project begins with; the folder example, with what examples put over it; and
// below oauth what is put over it for projects that check tokens. Files called standin.go make a program of what is put over that of
// base, so that it is compiled and vetted here; no project gets them.
//
//go:embed all:base all:example all:oauth
var Files embed.FS
