// Package engine makes a transaction of what a generator returns.
//
//	plan    what files would change, derived ones included; every conflict is found at once
//	verify  type-check what changes and what imports it, over the planned files
//	apply   all of it or nothing, journaled
//	record  so that it can be taken back
//
// A dry run is the first two. Undoing, destroying and deriving again go the same way. Only errors
// that a change would bring are held against it, so that a broken project can be worked on.
package engine
