// Package typecheck reads and type-checks the Go of a project, with planned files over those on
// disk.
//
// A [Store] parses the project's files and caches them; a [View] is the project at one moment, as
// it is or as it would be. A [Checker] type-checks packages of a view in memory: packages of the
// project from source, all others from the compiler's export data, which an [ExportCache] finds.
// go/types is not the compiler: cgo, embedded files and the linker are not checked. [CheckPackages]
// and [Build] ask the go command instead.
//
// A [PurityCheck] finds code that makes replaying the event log non-deterministic.
package typecheck
