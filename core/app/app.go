// Package app is for event-sourced applications.
//
// A command asks for a change. The app checks it against the state, and then appends it to the log
// as an event and applies it to the state. If either fails, neither happens. State is rebuilt from
// the event log at startup. Queries read the state. Workers follow the log, call the outside world,
// and execute commands.
//
//	type Create struct{ Title string }
//
//	func (c Create) Check(ctx context.Context, s *State) error      // why it cannot be done now
//	func (c Create) Apply(s *State, e app.Event) CreateOutput       // no clock, no randomness, no I/O
//
//	type Get struct{ ID string }
//
//	func (q Get) Answer(ctx context.Context, s *State) (Post, error)
//
//	type Digest struct{ Sent int }
//
//	func (w *Digest) OnCreate(ctx context.Context, c Create, e app.Event) error
//	func (w *Digest) Every(ctx context.Context) error
//
// Replay is strict. If the data of an event has an unknown field, lacks a field, or has a field of
// another type, Open returns a [*StuckError] that names the event, the field and the remedies. When
// the fields of a command change, the command gets a new version, and a type with the old fields
// upgrades old events:
//
//	type CreateV1 struct{ Name string }
//
//	func (old CreateV1) Upgrade() Create { return Create{Title: old.Name} }
//
// The saved fields of workers and the states in snapshots are read as strictly. A snapshot that
// does not fit is ignored with a warning.
//
// If a running process meets an event of a newer build, calls of that feature fail with the error
// that the process must be restarted. The other features keep working.
//
// Several processes can share one log. Each follows it, and one of them at a time executes a
// command. A query sees everything that any process committed before the query began.
package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options configure an [App]. The zero value is valid.
type Options struct {
	Program string           // name of the program in messages; NAME if empty
	Logger  *slog.Logger     // nil means [slog.Default]
	Now     func() time.Time // nil means [time.Now]
	NewID   func() string    // nil means random ids

	// Progress is called every second during replay, first after a second, with the number of
	// events applied so far; nil means that progress is logged.
	Progress func(done int64)

	// Fingerprint identifies the code. Only snapshots with the same fingerprint are used. Empty
	// means the hash of the running program, which changes with its source.
	Fingerprint string

	NoSnapshot bool // replay from the first event instead of a snapshot

	// Partial allows features to be left out, as in tests: workers may follow commands of features
	// that are not there.
	Partial bool

	// Idle starts no workers, for programs that only read. Do not call Run.
	Idle bool

	// Tries is how often a worker tries an event before it sets the event aside; 0 means 6. Backoff
	// is the wait after a failed try, the first try being 1; nil means half a second, times four
	// after each further try: three minutes in total.
	Tries   int
	Backoff func(try int) time.Duration
}

// An App is a set of features on one log.
type App struct {
	store    Store
	o        Options
	features []*feature
	types    map[string]*commandType       // by the name in the log
	commands map[reflect.Type]*commandType // by the Go type
	states   map[reflect.Type]*feature     // by the Go type of their state
	process  string                        // name of this process, for leases
	opened   atomic.Bool                   // the events at startup are applied

	queue queue
	watch watch

	mark   sync.Once
	marked string // cached fingerprint

	making atomic.Bool // the states are being rebuilt; writers do not wait for it

	// mu guards the states, which are those after event at. Commands hold it until their changes
	// are durable.
	mu         sync.RWMutex
	at         int64
	lastID     string // id of event at
	stamp      int64  // of the store, when the states caught up last
	stale      bool   // the states are those of no event, and must be rebuilt
	behind     bool   // rebuilding has not reached the end: stamp is not valid
	amendments map[int64]Amendment
}

// A feature is a Feature with its state.
type feature struct {
	Feature
	state    any
	from     int64 // the snapshot that the state started from contains the events up to here
	snapshot int64 // the last event in the stored snapshot

	// stuck is set, in a running process, at the first event that cannot be applied to the state.
	// From then on the state is frozen, and commands and queries are answered with this error.
	stuck *StuckError
}

// A commandType is a type of commands and its feature.
type commandType struct {
	Command
	eventType string // such as posts/create
	feature   *feature
	upgrades  map[int]upgrade // by the older version
}

// Open replays the log of a store. The error is a [*StuckError] if an event cannot be applied.
// Nothing else may use the Store. The caller closes it after Run has returned.
func Open(ctx context.Context, store Store, o Options, features ...Feature) (*App, error) {
	a, err := newApp(store, o, features...)
	if err != nil {
		return nil, err
	}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// open replays the rest of the log and prepares the workers.
func (a *App) open(ctx context.Context) error {
	if err := a.catchUp(ctx); err != nil {
		return err
	}
	if !a.o.Idle {
		if err := a.checkFields(ctx); err != nil {
			return err
		}
		if err := a.enrol(ctx); err != nil {
			return err
		}
	}
	a.opened.Store(true)
	return nil
}

// newApp is [Open] without replaying.
func newApp(store Store, o Options, features ...Feature) (*App, error) {
	if o.Program == "" {
		o.Program = "NAME"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Tries <= 0 {
		o.Tries = 6
	}
	if o.Backoff == nil {
		o.Backoff = func(try int) time.Duration { return 500 * time.Millisecond << min(2*(try-1), 12) }
	}
	a := &App{store: store, o: o, types: map[string]*commandType{}, commands: map[reflect.Type]*commandType{}, states: map[reflect.Type]*feature{}, stale: true}
	a.process = processName()
	a.watch.grown = make(chan struct{})
	for _, f := range features {
		if err := a.add(&feature{Feature: f}); err != nil {
			return nil, fmt.Errorf("feature %s: %w", f.Name, err)
		}
	}
	return a, a.checkWorkers()
}

// newID returns a random id of 80 bits, without characters that look alike.
func newID() string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	var random [16]byte
	rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = letters[b%32]
	}
	return string(random[:])
}

// add adds a feature.
func (a *App) add(f *feature) error {
	for _, other := range a.features {
		if other.Name == f.Name || other.State.kind == f.State.kind {
			return fmt.Errorf("feature %s has the same name or state type", other.Name)
		}
	}
	if f.Name == "" || f.Name == ownTypes || strings.ContainsAny(f.Name, "/ ") || f.State.kind == nil {
		return fmt.Errorf("it needs a name without spaces and slashes, other than %s, and a state", ownTypes)
	}
	for _, c := range f.Commands {
		upgrades, err := c.upgrades()
		if err != nil {
			return err
		}
		made := &commandType{c, f.Name + "/" + c.name, f, upgrades}
		switch {
		case c.state != f.State.kind:
			return fmt.Errorf("command %s is for the state %v, not %v", c.name, c.state, f.State.kind)
		case a.types[made.eventType] != nil || a.commands[c.kind] != nil:
			return fmt.Errorf("command %s is registered twice", c.name)
		case c.version < 1:
			return fmt.Errorf("command %s has version %d; versions start at 1", c.name, c.version)
		}
		a.types[made.eventType], a.commands[c.kind] = made, made
	}
	for _, q := range f.Queries {
		if q.state != f.State.kind {
			return fmt.Errorf("query %s is for the state %v, not %v", q.name, q.state, f.State.kind)
		}
	}
	a.features, a.states[f.State.kind] = append(a.features, f), f
	return nil
}

// checkWorkers returns an error for workers that follow no command, share a name, or have no
// interval.
func (a *App) checkWorkers() error {
	if a.o.Partial {
		return nil
	}
	for _, f := range a.features {
		names := map[string]bool{}
		for _, w := range f.Workers {
			if names[w.name] {
				return fmt.Errorf("feature %s: worker %s is registered twice", f.Name, w.name)
			}
			names[w.name] = true
			for _, p := range w.periods {
				if p.interval <= 0 {
					return fmt.Errorf("feature %s: worker %s works every %v; it needs an interval above 0", f.Name, w.name, p.interval)
				}
			}
			for kind := range w.on {
				if a.commands[kind] == nil {
					return fmt.Errorf("feature %s: worker %s follows %v, which is not a command of any feature; add its feature", f.Name, w.name, kind)
				}
			}
		}
	}
	return nil
}

// scopeKey and idempotencyKey are context keys.
type (
	scopeKey       struct{}
	idempotencyKey struct{}
)

// A scope is the app of a context, and where in the app it is used.
type scope struct {
	app    *App
	inside bool  // the caller holds the lock on the state
	work   *work // nil outside of workers
}

// A work is the handling of one event, or one tick, by a worker.
type work struct {
	prefix string // of the idempotency keys of its commands
	byData bool   // commands with different data have different keys

	due time.Time // of a tick

	mu   sync.Mutex
	done map[string]int // number of commands executed so far, by type or by type and data
}

// workPrefix starts the idempotency keys of workers. Other keys must not start with it.
const workPrefix = "work/"

// key returns the idempotency key of the worker's next command. It is the same when the work is
// repeated.
func (w *work) key(of string, data []byte) string {
	if w.byData {
		sum := sha256.Sum256(data)
		of += "/" + hex.EncodeToString(sum[:8])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil {
		w.done = map[string]int{}
	}
	w.done[of]++
	return w.prefix + of + "/" + strconv.Itoa(w.done[of])
}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

func (s scope) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// With returns a context for [Do] and [Ask]. Workers have such a context.
func With(ctx context.Context, a *App) context.Context { return scope{app: a}.with(ctx) }

// Now returns the current time of the app of ctx; in tests that is the time of the log. Apply has
// no context: it uses the time of its event.
func Now(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.app != nil {
		return s.app.o.Now()
	}
	return time.Now()
}

// Due returns the time at which a call of [Every] was due. It is the same when the call is repeated
// after a crash, so commands that contain it are executed once. For other callers it returns [Now].
func Due(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.work != nil && !s.work.due.IsZero() {
		return s.work.due
	}
	return Now(ctx)
}

// WithKey sets the idempotency key of the command that is executed with the context. Of several
// commands with the same key only the first is executed; the others return its result. Using the
// key of a different command is an error.
func WithKey(ctx context.Context, key string) context.Context { return WithKeyOf(ctx, "", key) }

// WithKeyOf is [WithKey] for a key that a caller has chosen. Equal keys of different callers are
// different keys. Callers without a name share theirs.
func WithKeyOf(ctx context.Context, caller, key string) context.Context {
	k := callerKey{key, key}
	if caller != "" && key != "" {
		sum := sha256.Sum256([]byte(caller))
		k.stored = hex.EncodeToString(sum[:8]) + ":" + key
	}
	return context.WithValue(ctx, idempotencyKey{}, k)
}

// A callerKey is the idempotency key of a context.
type callerKey struct {
	stored string // in the log
	given  string // by the caller
}

// lock locks the states for writing. It stops waiting when ctx ends.
func (a *App) lock(ctx context.Context) error {
	return wait(ctx, a.mu.TryLock, a.mu.Lock, a.mu.Unlock)
}

// lockToRead locks the states for reading. It stops waiting when ctx ends.
func (a *App) lockToRead(ctx context.Context) error {
	return wait(ctx, a.mu.TryRLock, a.mu.RLock, a.mu.RUnlock)
}

// wait acquires a lock. If ctx ends first, the lock is released as soon as it is acquired.
func wait(ctx context.Context, try func() bool, lock, unlock func()) error {
	if try() {
		return nil
	}
	if ctx.Done() == nil {
		lock()
		return nil
	}
	locked := make(chan struct{})
	go func() {
		lock()
		close(locked)
	}()
	select {
	case <-locked:
		return nil
	case <-ctx.Done():
		go func() {
			<-locked
			unlock()
		}()
		return context.Cause(ctx)
	}
}

// panicked returns an error for a recovered panic, with its file and line. The function that
// recovered must call it.
func panicked(p any) error {
	var calls [64]uintptr
	frames := runtime.CallersFrames(calls[:runtime.Callers(2, calls[:])])
	seen := false
	for {
		frame, more := frames.Next()
		if seen && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Errorf("panic: %v (%s:%d)", p, frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		seen = seen || frame.Function == "runtime.gopanic"
		if !more {
			return fmt.Errorf("panic: %v", p)
		}
	}
}
