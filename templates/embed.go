// Package templates holds the files of a new project that are not Go, as text/template. Their names
// have no leading dot, since a .gitignore here would apply to petrock itself.
package templates

import "embed"

// Files holds the folder project.
//
//go:embed project
var Files embed.FS
