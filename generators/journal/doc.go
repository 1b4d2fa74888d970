// Package journal changes the files of a project whole or not at all, one process at a time, and
// remembers what it did.
//
// All it needs is in the folder .petrock at the project's root, which git ignores:
//
//	lock          held by the process that is at work
//	pending.json  the operation that is being applied; gone once it is done
//	staged        a file on its way to its place
//	objects/      what files held before and after operations, by hash
//	operations/   the operations that were applied, one file each
//
// An operation is checked, and what the files hold and are to hold is put into objects. Then
// pending.json is written, and from there on the operation is meant: a process that dies is
// followed by one that finishes what it began. Each file is put in its place by one rename. At
// the end pending.json is moved to operations, which makes it history.
//
// What one process does to the project's files, the next can finish, or take back, because each
// file is known in both states. Somebody who edits a file in between is never overwritten: then all
// others are put back.
//
// All that holds for a process that is killed. If the power fails, the system may lose what was
// written last; what an operation replaces or removes of the user's own is then in objects.
package journal
