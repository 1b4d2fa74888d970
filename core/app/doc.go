// Package app runs event-sourced applications: every change of the state is an event in a log, and
// the state is rebuilt from the log at startup.
//
// In a project, the commands petrock generate command, query and worker write the code below, and
// derived code registers it. To use the package by itself, see the example.
//
// The package has a section for each of its audiences: the authors of features, the operators of
// servers (and commands for them), and derived code. What an app stores, and how to write a store,
// is in package eventlog.
//
// # For features
//
// A [Feature] is a state with the commands that change it, the queries that read it, and workers.
// Its state is an ordinary Go value in memory, which only its commands change.
//
// A command is a struct whose fields are its input ([Commander]). Check refuses a command that the
// state does not allow. Apply changes the state and returns the output:
//
//	type Create struct{ Title string }
//
//	func (c Create) Check(ctx context.Context, s *State) error {
//		if s.ByTitle[c.Title] != nil {
//			return fmt.Errorf("there is a post %q", c.Title)
//		}
//		return nil
//	}
//
//	func (c Create) Apply(s *State, e app.Event) Post {
//		post := &Post{ID: e.ID, Title: c.Title, CreatedAt: e.Time}
//		s.ByTitle[c.Title] = post
//		return *post
//	}
//
// When a command is executed, the app checks it, applies it, and appends it to the log, in one
// transaction. So an event is a command that was executed: its type is FEATURE/COMMAND, such as
// posts/create, and its data is the fields of the command. When Do returns, the event is durable.
//
// [Open] replays the log: it applies all events again. So Apply must have the same result each
// time: it uses the time, id and actor of its [Event], and no clock, no randomness and no I/O.
// Those belong in a worker, or in Check, which replay does not call.
//
// A query is a struct with a method Answer ([Answerer]), which must not change the state:
//
//	type Count struct{}
//
//	func (Count) Answer(ctx context.Context, s *State) (int, error) { return len(s.ByTitle), nil }
//
// [Do] executes a command and [Query] runs a query. They find the [App] in their context, and
// return typed results. [DoRaw] and [QueryRaw] take the App as an argument, and return JSON. The
// error of a Check matches [ErrRefused]. A command with an idempotency key ([WithKey], [Keyed]) is
// executed once, however often it is sent. [Actor] returns who is calling.
//
// A worker follows the log, calls the outside world, and executes commands. It receives the events
// of the commands that it names, in order and at least once, and it can run at intervals:
//
//	type Digest struct{ Sent int } // exported fields are saved with its position
//
//	func (w *Digest) OnCreate(ctx context.Context, c Create, e app.Event) error
//	func (w *Digest) Every(ctx context.Context) error
//
// If a method for an event returns an error, the event is retried with a growing delay, and finally
// set aside. Each worker runs in one process at a time. [Now] is the time, and [Due] is when a call
// of Every was due.
//
// Replay is strict. If the data of an event has an unknown field, lacks a required one, or has a
// field of another type, Open returns a [*StuckError]. When the fields of a command change, the
// command therefore gets a new version, and a type with the old fields upgrades old events
// ([Upgrader]):
//
//	type CreateV1 struct{ Name string }
//
//	func (old CreateV1) Upgrade() Create { return Create{Title: old.Name} }
//
// [UpgradeList], [UpgradeMap], [UpgradeKeys], [UpgradePointer] and [UpgradeOr] convert fields. The
// function [Feature].Map reads the events of a removed command as another one, or drops them with
// [ErrDrop]. The saved fields of workers are read as strictly as events.
//
// # For operators
//
// [Open] returns an [App], configured by [Options]. [App.Run] runs its workers. [App.Health],
// [App.Status] and [App.Workers] describe it. Package appserve has commands for all of this.
//
// The log is in an [eventlog.Store], which several processes can share: a SQLite file (package
// sqlite) or a PostgreSQL database (package postgres). Each has all states in memory. One of them
// at a time executes commands. A query sees everything that any process committed before the query
// began.
//
// While builds are replaced one by one, an older process may read an event that it cannot decode.
// Its feature is then stale: commands of the feature fail until the event is amended or the process
// is restarted, and queries answer as of the event before, see [Options].OnStale. The other
// features keep working. To avoid that, the new build first stores the older version, see
// [CommandType.Writes].
//
// A snapshot is a stored state. With one, startup replays only the events after it. Run takes
// snapshots by itself ([App.Snapshot] takes them now). A snapshot is used only by the code that
// took it, see [Options].Fingerprint. It can be discarded at any time: the log alone decides the
// state.
//
// A [*StuckError] names an event that cannot be applied, the field and the remedies. An [Admin]
// repairs a log: it skips events or reads them as other ones ([Admin.Amend]), erases them
// ([Admin.Erase]), stores them for an older build ([Admin.Downgrade]), and lets workers try events
// again ([Admin.Retry]). It also writes backups ([Admin.WriteBackup], [ReadBackup]), copies logs,
// and compares snapshots with a replay ([Admin.Replay]). [StoredTypes] and [Sample] show what a log
// contains.
//
// # For derived code
//
// Derived code registers a feature from its Go types: [StateOf], [CommandTypeOf], [RetiredTypeOf]
// for commands that are no longer executed, [QueryTypeOf], [WorkerOf] with [On], [Every] and
// [FromStart], [OlderOf] for versions, and [MapOf] for removed events. Packages such
// as appmcp and apptest use [With], [WithActor], [WithKeyOf], [DoOlderRaw], [App.Input] and
// [App.Command].
package app
