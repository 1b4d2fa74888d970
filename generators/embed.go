package generators

import "embed"

// Files holds the source of this package and of those below it, for new projects.
//
//go:embed *.go */*.go devserver/docs/*.md
var Files embed.FS
