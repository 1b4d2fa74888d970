package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"reflect"
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
	// of entries done; nil means that it is logged.
	Progress func(done int64)

	// Fingerprint is that of the code. Only snapshots with the same one are used. Empty means that of the
	// running program: a program that was built of other source has another.
	Fingerprint string

	NoSnapshot bool // do not begin with a snapshot, but with the first entry

	// Partial says that some features of the program are left out, as in tests. Workers that follow their commands
	// have nothing to follow.
	Partial bool

	// Idle says that no worker is to begin here, as for those who only look. Run is not called.
	Idle bool

	// Tries is how often a worker tries an entry before it is set aside; 0 means 6. Backoff is how long it waits
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

	// mu guards the states, which are those after the entry at: commands change them while they hold it, until they are
	// durable, and queries read them.
	mu         sync.RWMutex
	at         int64
	lastID     string // of the entry at
	stamp      int64  // of the store, when it was last caught up with
	stale      bool   // the states are those of no entry, and have to be made again
	behind     bool   // they were not made again to the end: the stamp says nothing
	amendments map[int64]Amendment
}

// A feature is one with its state.
type feature struct {
	Feature
	state    any
	from     int64 // entries up to here are in the state, which began as a snapshot
	snapshot int64 // the entry after which there is a snapshot in the store

	// stuck is set, in a running process, at the first event that cannot be applied to the state.
	// From then on the state is frozen, and commands and queries are answered with this error.
	stuck *StuckError
}

// A commandType is a type of commands, and the feature that it is of.
type commandType struct {
	Command
	entry    string // the name in the log
	feature  *feature
	upgrades map[int]upgrade // by the older version
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
		case a.types[made.entry] != nil || a.commands[c.kind] != nil:
			return fmt.Errorf("command %s is there twice", c.name)
		case c.version < 1:
			return fmt.Errorf("command %s has the version %d; they begin with 1", c.name, c.version)
		}
		a.types[made.entry], a.commands[c.kind] = made, made
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
