package app

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/strictjson"
)

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

// Run follows the commits of other processes and, unless the app is read-only, takes snapshots and
// runs the workers that no other process runs. When ctx ends, it takes snapshots that are due, for
// a few seconds at most, and returns. Callers should have stopped executing commands by then.
func (a *App) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { a.watchStore(ctx) })
	if a.o.ReadOnly != "" {
		a.pollStore(ctx)
		return
	}
	defer func() {
		group.Wait()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainBudget)
		defer cancel()
		a.SnapshotDue(ctx)
	}()
	group.Go(func() { a.takeSnapshots(ctx) })
	for _, f := range a.features {
		for _, w := range f.Workers {
			group.Go(func() { a.runWorker(ctx, f, w) })
		}
	}
	if a.monitor != nil {
		group.Go(func() { a.watchSessions(ctx) })
	}
	a.pollStore(ctx)
}

// Watch makes [App.Run] call f after the log has grown or a worker has made progress, in any
// process. f must not block.
func (a *App) Watch(f func()) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.watchers = append(a.watch.watchers, f)
}

// pollInterval is how often an idle process checks for commits of other processes.
const pollInterval = 250 * time.Millisecond

// pollStore applies the commits of other processes, and calls the watchers after changes.
func (a *App) pollStore(ctx context.Context) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var lastStamp int64
	var visible string
	var visibleAt time.Time      // when visible was read
	check, unseen := true, false // whether to read the stamp; whether visible is outdated
	_, notified := a.changes()
	changed := a.store.Changed() // nil if the store does not notify
	for {
		grown, count := a.changes()
		if check {
			if stamp, err := a.store.Stamp(ctx); err == nil && stamp != lastStamp {
				lastStamp, unseen = stamp, true
				if err := a.catchUpTo(ctx, stamp); err != nil && ctx.Err() == nil {
					a.logError(slog.LevelError, "follow log", err)
				}
			}
		}
		if unseen && time.Since(visibleAt) > pollInterval/2 { // a notifier may wake this loop often
			unseen, visibleAt = false, time.Now()
			if now, err := a.visibleState(ctx); err != nil || now != visible {
				visible, notified = now, -1
			}
		}
		if count != notified {
			notified = count
			a.watch.mu.Lock()
			watchers := a.watch.watchers
			a.watch.mu.Unlock()
			for _, f := range watchers {
				f()
			}
		}
		check = true
		select {
		case <-grown:
			check = false // by this process, or by catchUpTo
		case <-changed:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// visibleState returns a text that changes with everything that watchers show, but not with leases.
func (a *App) visibleState(ctx context.Context) (string, error) {
	last, err := a.store.Last(ctx)
	if err != nil {
		return "", err
	}
	workers, err := a.Workers(ctx)
	if err != nil {
		return "", err
	}
	text, err := strictjson.Marshal(workers)
	return fmt.Sprintf("%d %s", last, text), err
}

// watchStore probes the store until ctx ends, so that failures are noticed and end without calls.
func (a *App) watchStore(ctx context.Context) {
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.store.probe(ctx)
		case <-ctx.Done():
			return
		}
	}
}
