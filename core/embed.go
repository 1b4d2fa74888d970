package core

import "embed"

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go */*/*.go */*/*/*.go
var Files embed.FS
