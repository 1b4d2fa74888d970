// Package app is for applications whose state follows from a log of commands.
//
// A command says what somebody wants. It is checked against the state, and then appended to the log and applied to the
// state in one: a failure of either leaves neither. The state is what the log says, and is made again from it when
// the program starts. Queries read it. Workers follow the log, do what has to do with the world outside, and
// answer with commands.
//
//	type Create struct{ Title string }
//
//	func (c Create) Check(ctx context.Context, s *State) error      // why it cannot be done now
//	func (c Create) Apply(s *State, e app.Entry) CreateOutput       // no clock, no randomness, no I/O
//
//	type Get struct{ ID string }
//
//	func (q Get) Answer(ctx context.Context, s *State) (Post, error)
//
//	type Digest struct{ Sent int }
//
//	func (w *Digest) OnCreate(ctx context.Context, c Create, e app.Entry) error
//	func (w *Digest) Every(ctx context.Context) error
//
// Replay is strict. An event whose data has an unknown field, lacks one, or has one of another type
// stops the start with a [*StuckError], which names the event, the field and the ways out. When the
// fields of a command change, it gets a new version, and a type with the fields of the old one,
// which is upgraded:
//
//	type CreateV1 struct{ Name string }
//
//	func (old CreateV1) Upgrade() Create { return Create{Title: old.Name} }
//
// The saved fields of workers and the states in snapshots are read as strictly. A snapshot that
// does not fit is ignored with a warning.
//
// A running process that meets an event of a newer build answers the calls of that feature with the
// error that it has to be restarted, and serves the other features.
//
// Several processes may share one log: each follows it, a command is executed in one of them at a time, and a query sees
// all that was committed before it began, wherever that was.
package app
