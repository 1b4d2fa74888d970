package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Status describes an app.
type Status struct {
	Seq      int64           `json:"seq"` // number of the last event
	Features []FeatureStatus `json:"features"`
}

// A FeatureStatus describes a feature.
type FeatureStatus struct {
	Name     string   `json:"name"`
	Commands []string `json:"commands"`
	Queries  []string `json:"queries"`
	Workers  []string `json:"workers"`
	Snapshot int64    `json:"snapshot"`         // last event in the snapshot; 0 without a snapshot
	Unkept   string   `json:"unkept,omitempty"` // why there is no snapshot
	Stuck    string   `json:"stuck,omitempty"`  // why it answers no calls in this process
}

// Status returns the status of the app after everything that is committed.
func (a *App) Status(ctx context.Context) (Status, error) {
	if err := a.rlock(ctx); err != nil {
		return Status{}, err
	}
	defer a.mu.RUnlock()
	s := Status{Seq: a.at, Features: []FeatureStatus{}}
	for _, f := range a.features {
		of := FeatureStatus{Name: f.Name, Commands: []string{}, Queries: []string{}, Workers: []string{}, Snapshot: f.snapshot}
		for _, c := range f.Commands {
			of.Commands = append(of.Commands, c.name)
		}
		for _, q := range f.Queries {
			of.Queries = append(of.Queries, q.name)
		}
		for _, w := range f.Workers {
			of.Workers = append(of.Workers, w.name)
		}
		if err := snapshottable(f.State.kind); err != nil {
			of.Unkept = err.Error()
		}
		if f.stuck != nil {
			of.Stuck = f.stuck.Error()
		}
		s.Features = append(s.Features, of)
	}
	return s, nil
}

// Dump returns the states as JSON, by feature, after everything that is committed. It fails if a
// feature is stuck.
func (a *App) Dump(ctx context.Context) (map[string]json.RawMessage, error) {
	if err := a.rlock(ctx); err != nil {
		return nil, err
	}
	defer a.mu.RUnlock()
	all := map[string]json.RawMessage{}
	for _, f := range a.features {
		if f.stuck != nil {
			return nil, f.stuck
		}
		text, err := strictjson.Marshal(f.state)
		if err != nil {
			return nil, fmt.Errorf("encoding the state of %s: %w", f.Name, err)
		}
		all[f.Name] = text
	}
	return all, nil
}

// A WorkerStatus is the progress of a worker.
type WorkerStatus struct {
	Name     string     `json:"name"`              // such as posts/digest
	Position int64      `json:"position"`          // all events up to it are done
	Behind   int64      `json:"behind"`            // number of events after it
	Process  string     `json:"process,omitempty"` // the process that runs it, as HOST:PID:…; empty if none does
	Trying   int64      `json:"trying,omitempty"`  // the event that it tries or has failed on
	Tries    int        `json:"tries,omitempty"`   // number of tries
	Error    string     `json:"error,omitempty"`   // the last error
	Ticked   time.Time  `json:"ticked,omitzero"`   // when it last ran by the clock
	Aside    []SetAside `json:"aside"`             // events that it has stopped trying
}

// A SetAside is an event that a worker has stopped trying. See [Retry].
type SetAside struct {
	Seq   int64     `json:"seq"`
	Time  time.Time `json:"time"` // of the last try
	Tries int       `json:"tries"`
	Error string    `json:"error"` // the last error
}

// put stores it.
func (s SetAside) put(tx Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(asideName(worker, s.Seq), document)
}

// Workers returns the status of all workers that ever ran on a store. The position of a running
// worker that only passes over events is saved from time to time.
func Workers(ctx context.Context, s Store) ([]WorkerStatus, error) {
	names, err := s.Names(ctx, workerName(""))
	if err != nil {
		return nil, err
	}
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	all := []WorkerStatus{}
	for _, name := range names {
		w := WorkerStatus{Name: strings.TrimPrefix(name, workerName("")), Aside: []SetAside{}}
		standing, err := readStanding(reading{ctx, s}, w.Name)
		if err != nil {
			return nil, err
		}
		w.Position, w.Behind = standing.Position, max(last-standing.Position, 0)
		w.Trying, w.Tries, w.Error = standing.Trying, standing.Tries, standing.Error
		if standing.Owner != "" && standing.Until.After(time.Now()) {
			w.Process = standing.Owner
		}
		for _, t := range standing.Ticked {
			if t.After(w.Ticked) {
				w.Ticked = t
			}
		}
		if w.Aside, err = asides(ctx, s, w.Name); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

// asides returns the events that a worker has set aside.
func asides(ctx context.Context, s Store, worker string) ([]SetAside, error) {
	names, err := s.Names(ctx, "aside/"+worker+"/")
	if err != nil {
		return nil, err
	}
	all := []SetAside{}
	for _, name := range names {
		document, err := s.Get(ctx, name)
		if err != nil {
			return nil, err
		}
		var aside SetAside
		if err := json.Unmarshal(document, &aside); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		all = append(all, aside)
	}
	return all, nil
}

// Retry makes a worker try an event again that it has set aside. The process that runs the worker
// does it soon.
func Retry(ctx context.Context, s Store, worker string, seq int64) error {
	return s.Write(ctx, func(tx Tx) error {
		aside, err := tx.Get(asideName(worker, seq))
		if err != nil {
			return err
		}
		if aside == nil {
			return fmt.Errorf("the worker %s has not set event %d aside", worker, seq)
		}
		return tx.Put(retryName(worker, seq), []byte("true"))
	})
}

// poll is how often an idle process looks for commits of other processes.
const poll = 250 * time.Millisecond

// A watch notifies waiters that the log has grown.
type watch struct {
	mu    sync.Mutex
	grown chan struct{} // closed by signal, and replaced
	times int           // number of signals
	tell  []func()
}

// signal wakes the waiters.
func (a *App) signal() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.grown)
	a.watch.grown = make(chan struct{})
	a.watch.times++
}

// moved notifies watchers of a change other than new events, such as the progress of a worker.
func (a *App) moved() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.times++
}

// growth returns a channel that the next signal closes, and the number of signals so far.
func (a *App) growth() (<-chan struct{}, int) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.grown, a.watch.times
}

// Watch makes [App.Run] call f after the log has grown or a worker has moved, in any process. f
// must not block.
func (a *App) Watch(f func()) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.tell = append(a.watch.tell, f)
}

// Run runs the background work until ctx ends: it looks for commits of other processes, takes
// snapshots, and runs the workers that no other process runs.
func (a *App) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	group.Go(func() { a.takeSnapshots(ctx) })
	for _, f := range a.features {
		for _, w := range f.Workers {
			group.Go(func() { a.runWorker(ctx, f, w) })
		}
	}
	a.lookOut(ctx)
}

// lookOut notifies watchers of commits.
func (a *App) lookOut(ctx context.Context) {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	var last int64
	var seen string
	_, told := a.growth()
	for {
		grown, times := a.growth()
		stamp, err := a.store.Stamp(ctx)
		if err == nil && stamp != last {
			last = stamp
			if err := a.catchUp(ctx); err != nil && ctx.Err() == nil {
				a.o.Logger.Error("following the log", "error", err)
			}
			if now, err := a.seen(ctx); err != nil || now != seen {
				seen, told = now, -1
			}
		}
		if times != told {
			told = times
			a.tellAll()
		}
		select {
		case <-grown:
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// seen returns what watchers can see. It does not change when a lease is renewed.
func (a *App) seen(ctx context.Context) (string, error) {
	last, err := a.store.Last(ctx)
	if err != nil {
		return "", err
	}
	workers, err := Workers(ctx, a.store)
	if err != nil {
		return "", err
	}
	text, err := strictjson.Marshal(workers)
	return fmt.Sprintf("%d %s", last, text), err
}

func (a *App) tellAll() {
	a.watch.mu.Lock()
	tell := a.watch.tell
	a.watch.mu.Unlock()
	for _, f := range tell {
		f()
	}
}
