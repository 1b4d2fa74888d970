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

// Options are what an [App] is opened with. The zero value is a good one.
type Options struct {
	Program string           // what runs it, for messages; NAME if empty
	Logger  *slog.Logger     // nil means [slog.Default]
	Now     func() time.Time // nil means [time.Now]
	NewID   func() string    // nil means random ones

	// Progress is called once a second while the log is replayed, beginning with the first second, with the number
	// of events done; nil means that it is logged.
	Progress func(done int64)

	// Fingerprint is that of the code. Only snapshots with the same one are used. Empty means that of the
	// running program: a program that was built of other source has another.
	Fingerprint string

	NoSnapshot bool // do not begin with a snapshot, but with the first event

	// Partial says that some features of the program are left out, as in tests. Workers that follow their commands
	// have nothing to follow.
	Partial bool

	// Idle says that no worker is to begin here, as for those who only look. Run is not called.
	Idle bool

	// Tries is how often a worker tries an event before it is set aside; 0 means 6. Backoff is how long it waits
	// after a try that failed, the first being 1; nil means half a second, and four times longer each time: three
	// minutes in all.
	Tries   int
	Backoff func(try int) time.Duration
}

// An App is features over one log.
type App struct {
	store    Store
	o        Options
	features []*feature
	types    map[string]*commandType       // by the name in the log
	commands map[reflect.Type]*commandType // by the Go type
	states   map[reflect.Type]*feature     // by the Go type of their state
	process  string                        // this one, for leases
	opened   atomic.Bool                   // all that was there at the start is applied

	queue queue
	watch watch

	mark   sync.Once
	marked string // the fingerprint

	making atomic.Bool // the states are made again, for which who writes does not wait

	// mu guards the states, which are those after the event at: commands change them while they hold it, until they are
	// durable, and queries read them.
	mu         sync.RWMutex
	at         int64
	lastID     string // of the event at
	stamp      int64  // of the store, when it was last caught up with
	stale      bool   // the states are those of no event, and have to be made again
	behind     bool   // they were not made again to the end: the stamp says nothing
	amendments map[int64]Amendment
}

// A feature is one with its state.
type feature struct {
	Feature
	state    any
	from     int64 // events up to here are in the state, which began as a snapshot
	snapshot int64 // the event after which there is a snapshot in the store

	// stuck is set, in a running process, at the first event that cannot be applied to the state.
	// From then on the state is frozen, and commands and queries are answered with this error.
	stuck *StuckError
}

// A commandType is a type of commands, and the feature that it is of.
type commandType struct {
	Command
	eventType string // the name in the log
	feature   *feature
	upgrades  map[int]upgrade // by the older version
}

// Open replays the log of a store. An event that cannot be applied is a [*StuckError]. The app
// wants the Store for itself; the caller closes it, when Run is over.
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

// open replays the rest of the log, and gets ready to serve.
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

// newID is a random id: 80 bits, as letters and digits that nobody mistakes for others.
func newID() string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	var random [16]byte
	rand.Read(random[:]) // it never fails
	for i, b := range random {
		random[i] = letters[b%32]
	}
	return string(random[:])
}

// add takes a feature in.
func (a *App) add(f *feature) error {
	for _, other := range a.features {
		if other.Name == f.Name || other.State.kind == f.State.kind {
			return fmt.Errorf("%s has its name or its state already", other.Name)
		}
	}
	if f.Name == "" || f.Name == ownTypes || strings.ContainsAny(f.Name, "/ ") || f.State.kind == nil {
		return fmt.Errorf("it needs a plain name other than %s, and a state", ownTypes)
	}
	for _, c := range f.Commands {
		upgrades, err := c.upgrades()
		if err != nil {
			return err
		}
		made := &commandType{c, f.Name + "/" + c.name, f, upgrades}
		switch {
		case c.state != f.State.kind:
			return fmt.Errorf("command %s is about %v, and the state is %v", c.name, c.state, f.State.kind)
		case a.types[made.eventType] != nil || a.commands[c.kind] != nil:
			return fmt.Errorf("command %s is there twice", c.name)
		case c.version < 1:
			return fmt.Errorf("command %s has the version %d; they begin with 1", c.name, c.version)
		}
		a.types[made.eventType], a.commands[c.kind] = made, made
	}
	for _, q := range f.Queries {
		if q.state != f.State.kind {
			return fmt.Errorf("query %s is about %v, and the state is %v", q.name, q.state, f.State.kind)
		}
	}
	a.features, a.states[f.State.kind] = append(a.features, f), f
	return nil
}

// checkWorkers refuses workers that follow what is no command, would overwrite how another one stands, or never rest.
func (a *App) checkWorkers() error {
	if a.o.Partial {
		return nil
	}
	for _, f := range a.features {
		names := map[string]bool{}
		for _, w := range f.Workers {
			if names[w.name] {
				return fmt.Errorf("feature %s: worker %s is there twice", f.Name, w.name)
			}
			names[w.name] = true
			for _, p := range w.periods {
				if p.interval <= 0 {
					return fmt.Errorf("feature %s: worker %s works every %v; it needs an interval above 0", f.Name, w.name, p.interval)
				}
			}
			for kind := range w.on {
				if a.commands[kind] == nil {
					return fmt.Errorf("feature %s: worker %s follows %v, which is no command of any feature; add the one that it is of", f.Name, w.name, kind)
				}
			}
		}
	}
	return nil
}

// scopeKey and idempotencyKey are keys of contexts.
type (
	scopeKey       struct{}
	idempotencyKey struct{}
)

// A scope is what a context leads to.
type scope struct {
	app    *App
	inside bool  // the state is locked for whoever has this context
	work   *work // what a worker is doing, if it is one
}

// A work is the handling of one event, or one tick, by a worker.
type work struct {
	prefix string // of its commands' idempotency keys
	byData bool   // commands with different data have different keys

	due time.Time // of a tick

	mu   sync.Mutex
	done map[string]int // how many commands it has executed so far, by type or by type and data
}

// workPrefix begins the keys of workers, and no others.
const workPrefix = "work/"

// key is the idempotency key of the worker's next command: the same when the work is done again.
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

// With is a context for [Do] and [Ask], such as workers have.
func With(ctx context.Context, a *App) context.Context { return scope{app: a}.with(ctx) }

// Now is the time for who has a context that leads to the app, such as a worker; in tests it is that of the log. Apply has no
// context, and goes by the time of its event.
func Now(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.app != nil {
		return s.app.o.Now()
	}
	return time.Now()
}

// Due is when a call of [Every] was due. It is the same when the call is repeated after a crash, so commands that hold it
// are executed once. For other callers it is [Now].
func Due(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.work != nil && !s.work.due.IsZero() {
		return s.work.due
	}
	return Now(ctx)
}

// WithKey gives a key to the command that is executed with the context. Of several commands with the same key one is
// executed; the others have its result, and add nothing to the log. The key of a different command is refused.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}

// lock locks the states for changing them. They may be locked for long, while they are made again: it ends with ctx.
func (a *App) lock(ctx context.Context) error {
	return wait(ctx, a.mu.TryLock, a.mu.Lock, a.mu.Unlock)
}

// lockToRead is lock for reading.
func (a *App) lockToRead(ctx context.Context) error {
	return wait(ctx, a.mu.TryRLock, a.mu.RLock, a.mu.RUnlock)
}

// wait takes a lock. If ctx ends before, it is given back as soon as it is there.
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

// panicked is an error for what was recovered: it says where that was. It is called by the function that recovered it.
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
