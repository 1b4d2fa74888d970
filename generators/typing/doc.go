// Package typing type-checks the packages of a project in memory: those of the project from their
// source, planned files included, and all others from what the compiler wrote down of them.
//
// A [Checker] keeps what it has checked for as long as that holds. A [Pass] looks at one view of
// the project. go/types is not the compiler: cgo, embedded files and the linker are not looked at.
package typing
