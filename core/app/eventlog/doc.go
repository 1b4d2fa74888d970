// Package eventlog is what an event-sourced app stores, and the contract of a store. It is for
// authors of stores, and for code that reads a log without an app. Package app runs the features
// whose events are in the log.
//
// A log is a sequence of records. A [Record] is one event: a command that was executed, with its
// position, time, actor and [Cause]. Next to the log, an app stores documents: small named values,
// such as snapshots, the positions of workers, and amendments of events.
//
// # Reading and writing
//
// A [Store] holds both. Its methods read the latest data. [Store.View] calls a function with a
// [View] of the store at one moment, and [Store.Write] with a [Tx], which reads and writes in one
// transaction. One transaction at a time writes, in all processes. See the example.
//
// # Writing a store
//
// A store may have more methods than [Store] requires, and an app uses them:
//
//   - a [Notifier] reports commits of other processes, which the app otherwise notices later
//   - a [Monitor] reports processes that have ended, so that another one runs their workers at once
//   - a [Pinger] reports at once whether the store can be reached
//   - views that are a [TypeView] find records by type, for app.StoredTypes and app.Sample
//
// Errors of a store match [ErrConflict], [ErrUnavailable], [ErrFull] or [ErrOutcomeUnknown] where
// they apply. The app wraps the errors of a store in an [Error], so that remote clients do not see
// their text.
//
// Package storetest tests a store. Packages sqlite and postgres are stores, and [Memory] is one for
// tests and examples.
package eventlog
