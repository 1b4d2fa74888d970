package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure an [App]. The zero value is valid.
type Options struct {
	Program string           // name of the program in messages; NAME if empty
	Logger  *slog.Logger     // nil means [slog.Default]
	Now     func() time.Time // nil means [time.Now]
	NewID   func() string    // nil means random ids

	// Actor returns the name of the caller that a context belongs to. nil means that callers have
	// no names. See [Actor].
	Actor func(context.Context) string

	// Cause returns why a command is executed with a context that does not belong to a worker. nil
	// means that it is unknown.
	Cause func(context.Context) eventlog.Cause

	// OnStale is called, with the context of a query, when the query is answered from a state that
	// lacks events because this build cannot read one. It may be nil.
	OnStale func(context.Context, *StuckError)

	// Progress is called once a second during replay, with the number of events applied so far. nil
	// logs the progress.
	Progress func(done int64)

	// Fingerprint identifies the code that decides the state of a feature. Only snapshots with the
	// same fingerprint are used. nil or an empty result means the hash of the running program.
	Fingerprint func(feature string) string

	NoSnapshot    bool // replay from the first event instead of a snapshot, and take none by itself
	NoNewSnapshot bool // take no snapshot by itself, but use one

	// Skip has the types of events to ignore, such as scratch/poke, unless a command,
	// [Feature].Maps or [Feature].Map reads them.
	Skip []string

	// Partial allows workers to follow commands of features that are not registered, as in tests.
	Partial bool

	// NoWorkers leaves the workers out, for programs that only read and do not call Run.
	NoWorkers bool

	// ReadOnly is the reason why commands are refused; empty means that they are executed. With a
	// reason, the app writes nothing to the store, and workers do not run.
	ReadOnly string

	// A worker sets an event aside after Tries failures; 0 means 6. Backoff returns the delay after
	// a failed try, counted from 1; nil means half a second, and four times as long after each
	// further try.
	Tries   int
	Backoff func(try int) time.Duration
}

// toReplay returns the options for an app that only replays the log, silently.
func (o Options) toReplay() Options {
	o.NoSnapshot, o.NoWorkers, o.Logger = true, true, slog.New(slog.DiscardHandler)
	return o
}

// An App runs a set of features on one log. It is safe for concurrent use. Execute commands with
// [Do] and run queries with [Query]. To repair a log, use an [Admin].
type App struct {
	store    *watchedStore
	o        Options
	features []*feature
	types    map[string]*registeredType       // by the name in the log
	commands map[reflect.Type]*registeredType // by the Go type
	written  map[reflect.Type]*registeredType // by the Go type of the older version that they write
	maps     map[string]*typeMap              // by the type of the events that they read
	states   map[reflect.Type]*feature        // by the Go type of their state
	process  string                           // name of this process, for leases
	outputs  strictjson.OutputEncoder         // of commands and queries
	opened   atomic.Bool                      // startup has replayed the log

	fingerprints func() map[*feature]string // of the features' code; empty if unknown

	featureHealth atomic.Pointer[map[string]string] // see Health

	queue queue
	watch watch

	monitor   eventlog.Monitor // the store; nil if it is none
	waitersMu sync.Mutex
	waiters   map[*waiter]bool

	rebuilding atomic.Bool // writers retry instead of waiting

	// mu guards the states, which include the events up to seq. Commands hold it until their
	// changes are durable.
	mu         sync.RWMutex
	seq        int64
	lastID     string // id of event seq
	stamp      int64  // of the store, when the states last caught up
	stale      bool   // an uncommitted command may have changed the states; they must be rebuilt
	behind     bool   // a rebuild has not reached the end of the log; stamp is not valid
	amendments amendments.Index
	eventCost  time.Duration // of replaying an event; 0 if it is unknown

	lastAmended []int64 // the last amended events that were applied
	edit        *Edit   // amendments that are tried; nil for none
}

// Open replays the log of a store. The error is a [*StuckError] if an event cannot be applied. Only
// the App may use the Store. The caller closes it after Run has returned.
func Open(ctx context.Context, store eventlog.Store, o Options, features ...Feature) (*App, error) {
	a, err := newApp(store, o, features...)
	if err != nil {
		return nil, err
	}
	if err := a.open(ctx); err != nil {
		return nil, err
	}
	return a, nil
}

// Store returns the store of the app, to read the log. Only commands may change it.
func (a *App) Store() eventlog.Store { return a.store }

// open replays the rest of the log and prepares the workers.
func (a *App) open(ctx context.Context) error {
	if err := a.catchUp(ctx); err != nil {
		return err
	}
	if !a.o.NoWorkers && a.o.ReadOnly == "" {
		if err := a.checkFields(ctx); err != nil {
			return err
		}
		if err := a.initWorkers(ctx); err != nil {
			return err
		}
	}
	a.opened.Store(true)
	return nil
}

// newApp is [Open] without replaying.
func newApp(store eventlog.Store, o Options, features ...Feature) (*App, error) {
	o.Program, o.Logger = cmp.Or(o.Program, "NAME"), cmp.Or(o.Logger, slog.Default())
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewID == nil {
		o.NewID = newID
	}
	if o.Progress == nil {
		o.Progress = func(done int64) { o.Logger.Info("replaying the log", "events", done) }
	}
	if o.Tries <= 0 {
		o.Tries = 6
	}
	if o.Backoff == nil {
		o.Backoff = func(try int) time.Duration { return 500 * time.Millisecond << min(2*(try-1), 12) }
	}
	a := &App{
		o: o, process: processName(), stale: true,
		types:    map[string]*registeredType{},
		commands: map[reflect.Type]*registeredType{},
		written:  map[reflect.Type]*registeredType{},
		maps:     map[string]*typeMap{},
		states:   map[reflect.Type]*feature{},
	}
	a.store = &watchedStore{Store: store, logger: o.Logger, opened: &a.opened}
	a.fingerprints = sync.OnceValue(a.findFingerprints)
	a.watch.grown, a.watch.rebuilt = make(chan struct{}), make(chan struct{})
	a.waiters = map[*waiter]bool{}
	a.monitor, _ = store.(eventlog.Monitor)
	for _, f := range features {
		if err := a.add(&feature{Feature: f}); err != nil {
			return nil, fmt.Errorf("feature %s: %w", f.Name, err)
		}
	}
	if err := a.checkMaps(); err != nil {
		return nil, err
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

func (a *App) add(f *feature) error {
	for _, other := range a.features {
		if other.Name == f.Name || other.State.kind == f.State.kind {
			return fmt.Errorf("feature %s has the same name or state type", other.Name)
		}
	}
	if f.Name == "" || f.Name == ownFeature || strings.ContainsAny(f.Name, "/ ") || f.State.kind == nil {
		return fmt.Errorf("a state and a name are required; the name must not be %s or contain spaces or slashes", ownFeature)
	}
	for _, c := range f.Commands {
		upgrades, err := c.upgrades()
		if err != nil {
			return err
		}
		t := &registeredType{c, f.Name + "/" + c.name, f, upgrades}
		switch {
		case c.state != f.State.kind:
			return fmt.Errorf("command %s is for the state %v, not %v", c.name, c.state, f.State.kind)
		case a.types[t.eventType] != nil || a.commands[c.kind] != nil:
			return fmt.Errorf("command %s is registered twice", c.name)
		case c.version < 1:
			return fmt.Errorf("command %s has version %d; versions start at 1", c.name, c.version)
		case !t.canRead(c.writes):
			return fmt.Errorf("command %s writes version %d, and no OlderOf reads it", c.name, c.writes)
		}
		a.types[t.eventType], a.commands[c.kind] = t, t
		if c.writes != c.version {
			a.written[upgrades[c.writes].kind] = t
		}
	}
	for _, m := range f.Maps {
		t, version := f.findVersion(a.commands, m.kind)
		switch {
		case t == nil:
			return fmt.Errorf("map of %s returns %v, which is not a command of the feature, nor an older version of one", m.eventType, m.kind)
		case a.maps[m.eventType] != nil:
			return fmt.Errorf("map of %s: feature %s maps it too; remove one", m.eventType, a.maps[m.eventType].cmdType.feature.Name)
		}
		a.maps[m.eventType] = &typeMap{m, t, version}
	}
	for _, q := range f.Queries {
		if q.state != f.State.kind {
			return fmt.Errorf("query %s is for the state %v, not %v", q.name, q.state, f.State.kind)
		}
	}
	a.features, a.states[f.State.kind] = append(a.features, f), f
	return nil
}

// findVersion returns the command of the feature whose current or older type is kind, and the
// version of that type.
func (f *feature) findVersion(commands map[reflect.Type]*registeredType, kind reflect.Type) (*registeredType, int) {
	for _, t := range commands {
		switch at := slices.IndexFunc(t.older, func(o Older) bool { return o.kind == kind }); {
		case t.feature != f:
		case t.kind == kind:
			return t, t.version
		case at >= 0:
			return t, t.older[at].version
		}
	}
	return nil, 0
}

// checkMaps returns an error if a [Mapping] is for events of a command that exists.
func (a *App) checkMaps() error {
	for eventType, m := range a.maps {
		if a.types[eventType] != nil {
			return fmt.Errorf("feature %s: map of %s: it is a command, and only events of removed commands are mapped", m.cmdType.feature.Name, eventType)
		}
	}
	return nil
}

// checkWorkers returns an error for workers that follow an unknown command, share a name, or have
// an interval that is not positive.
func (a *App) checkWorkers() error {
	for _, f := range a.features {
		names := map[string]bool{}
		for _, w := range f.Workers {
			if names[w.name] {
				return fmt.Errorf("feature %s: worker %s is registered twice", f.Name, w.name)
			}
			names[w.name] = true
			for _, p := range w.periodic {
				if p.interval <= 0 {
					return fmt.Errorf("feature %s: worker %s has the interval %v; intervals must be above 0", f.Name, w.name, p.interval)
				}
			}
			for kind := range w.on {
				if a.commands[kind] == nil && !a.o.Partial {
					return fmt.Errorf("feature %s: worker %s follows %v, which is not a command of any feature; register its feature", f.Name, w.name, kind)
				}
			}
		}
	}
	return nil
}
