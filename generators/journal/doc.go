// Package journal changes files of a project atomically, one process at a time, and records the
// operations for undo.
//
// Its state is in the folder .petrock at the project's root, which git ignores:
//
//	lock          held by the process that changes the project
//	pending.json  the operation that is being applied
//	staged        a file before it is renamed into place
//	objects/      contents of files before and after operations, by hash
//	operations/   recorded operations, one file each
//
// [Journal.Apply] checks the operation, saves the contents of files before and after it as objects, and
// writes pending.json. From then on the operation will be completed: if the process dies, the next
// [Open] completes it. Each file is written by one rename. [Journal.Record] moves pending.json to
// operations.
//
// If a file was edited in between, the next Open rolls the operation back instead and leaves that file
// alone.
//
// This holds for killed processes. After a power failure the latest writes may be lost; user files that
// an operation replaced or removed are in objects.
package journal
