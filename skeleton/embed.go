// Package skeleton holds the Go of a new project that is not in core or generators.
package skeleton

import "embed"

// Files holds the folder base, which every project begins with; the folder example, with what examples put over it; and
// below oauth what is put over it for projects that check tokens.
//
//go:embed all:base all:example oauth/cmd/server/identity.go
var Files embed.FS
