// Package engine changes a project in transactions:
//
//	plan    which files change, derived ones included; all conflicts are reported at once
//	verify  type-check what changes and what imports it, with the planned files; run the examples
//	apply   write all files or none
//	record  add the operation to the history, for undo
//
// A dry run is the first two. Generators, destroy, undo, sync and saved plans all go through
// Engine.transact. Only new errors block a change, so that users can work in a broken project.
package engine
