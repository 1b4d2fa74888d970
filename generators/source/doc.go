// Package source reads the Go of a project: its packages, their files and syntax, with planned
// files over those on the disk.
//
// A [Store] belongs to one project and reads a file again only after it has changed. A [View] is
// the project at one moment, as it is or as it would be.
package source
