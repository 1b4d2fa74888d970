// Package templates holds the texts of a new project that are not Go. They are in the form of
// text/template, named after what they become, without a leading dot: a live .gitignore or
// go.mod in this place would act on petrock itself.
package templates

import "embed"

// Files holds the folder project.
//
//go:embed project
var Files embed.FS
