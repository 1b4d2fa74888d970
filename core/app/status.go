package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Status describes an app.
type Status struct {
	Seq      int64           `json:"seq"` // last event
	Features []FeatureStatus `json:"features"`
}

// A FeatureStatus describes a feature.
type FeatureStatus struct {
	Name     string   `json:"name"`
	Commands []string `json:"commands"`
	Queries  []string `json:"queries"`
	Workers  []string `json:"workers"`
	Snapshot int64    `json:"snapshot"`         // last event in the snapshot; 0 if there is none
	Unkept   string   `json:"unkept,omitempty"` // why the state cannot have snapshots
	Stuck    string   `json:"stuck,omitempty"`  // why commands of the feature fail in this process
	Stale    bool     `json:"stale,omitempty"`  // queries answer as of the event before the one in Stuck
}

// Status applies all committed events, and returns the status of the app.
func (a *App) Status(ctx context.Context) (Status, error) {
	if err := a.lockCurrent(ctx); err != nil {
		return Status{}, err
	}
	defer a.mu.RUnlock()
	s := Status{Seq: a.seq, Features: []FeatureStatus{}}
	for _, f := range a.features {
		status := FeatureStatus{Name: f.Name, Commands: []string{}, Queries: []string{}, Workers: []string{}, Snapshot: f.snapshot}
		for _, c := range f.Commands {
			if !c.retired {
				status.Commands = append(status.Commands, c.name)
			}
		}
		for _, q := range f.Queries {
			status.Queries = append(status.Queries, q.name)
		}
		for _, w := range f.Workers {
			status.Workers = append(status.Workers, w.name)
		}
		if err := checkSnapshottable(f.State.kind); err != nil {
			status.Unkept = err.Error()
		}
		if f.stuck != nil {
			status.Stuck, status.Stale = f.stuck.Error(), !f.stuck.Stopped
		}
		s.Features = append(s.Features, status)
	}
	return s, nil
}

// Dump applies all committed events, and returns the states as JSON, by feature. It fails if a feature
// is stuck.
func (a *App) Dump(ctx context.Context) (map[string]json.RawMessage, error) {
	if err := a.lockCurrent(ctx); err != nil {
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
			return nil, fmt.Errorf("encode the state of %s: %w", f.Name, err)
		}
		all[f.Name] = text
	}
	return all, nil
}

// A WorkerStatus is the progress of a worker.
type WorkerStatus struct {
	Name     string     `json:"name"`              // such as posts/digest
	Position int64      `json:"position"`          // last event that was handled
	Behind   int64      `json:"behind"`            // number of events after Position
	Process  string     `json:"process,omitempty"` // process that runs the worker, as HOST:PID:…
	Trying   int64      `json:"trying,omitempty"`  // event that is being handled or retried
	Tries    int        `json:"tries,omitempty"`   // number of tries so far
	Error    string     `json:"error,omitempty"`   // last error
	LastTick time.Time  `json:"ticked,omitzero"`   // last call of a periodic method
	Aside    []SetAside `json:"aside"`             // events that the worker has stopped trying
}

// A SetAside is an event that a worker has stopped trying. See [Admin.Retry].
type SetAside struct {
	Seq   int64     `json:"seq"`
	Time  time.Time `json:"time"` // of the last try
	Tries int       `json:"tries"`
	Error string    `json:"error"` // last error
}

func (s SetAside) put(tx Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(asideDocument(worker, s.Seq), document)
}

// Workers returns the status of all workers that ever ran on the log, in any process. Positions can lag
// for workers that ignore most events.
func (a *App) Workers(ctx context.Context) ([]WorkerStatus, error) { return readWorkers(ctx, a.store) }

// readWorkers returns the status of all workers that ever ran on a store.
func readWorkers(ctx context.Context, s Store) ([]WorkerStatus, error) {
	names, err := s.Names(ctx, workerDocument(""))
	if err != nil {
		return nil, err
	}
	last, err := s.Last(ctx)
	if err != nil {
		return nil, err
	}
	all := []WorkerStatus{}
	for _, name := range names {
		w := WorkerStatus{Name: strings.TrimPrefix(name, workerDocument("")), Aside: []SetAside{}}
		p, err := readProgress(storeReader{ctx, s}, w.Name)
		if err != nil {
			return nil, err
		}
		w.Position, w.Behind = p.Position, max(last-p.Position, 0)
		w.Trying, w.Tries, w.Error = p.Trying, p.Tries, p.Error
		if p.Owner != "" && p.Until.After(time.Now()) {
			w.Process = p.Owner
		}
		for _, t := range p.LastTick {
			if t.After(w.LastTick) {
				w.LastTick = t
			}
		}
		if w.Aside, err = setAsides(ctx, s, w.Name); err != nil {
			return nil, err
		}
		all = append(all, w)
	}
	return all, nil
}

func setAsides(ctx context.Context, s Store, worker string) ([]SetAside, error) {
	all := []SetAside{}
	for d, err := range s.Documents(ctx, "aside/"+worker+"/", "") {
		if err != nil {
			return nil, err
		}
		var aside SetAside
		if err := json.Unmarshal(d.Value, &aside); err != nil {
			return nil, fmt.Errorf("read %s: %w", d.Name, err)
		}
		all = append(all, aside)
	}
	return all, nil
}

// pollInterval is how often an idle process checks for commits of other processes.
const pollInterval = 250 * time.Millisecond

// A watch notifies goroutines and watchers of changes.
type watch struct {
	mu       sync.Mutex
	grown    chan struct{} // closed when the log grows, and replaced
	rebuilt  chan struct{} // closed when the states were rebuilt, and replaced
	count    int           // number of changes
	watchers []func()
}

// signalGrowth notifies that the log has grown.
func (a *App) signalGrowth() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.grown)
	a.watch.grown = make(chan struct{})
	a.watch.count++
}

// signalRebuilt notifies that the states were rebuilt, for example after an amendment.
func (a *App) signalRebuilt() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.rebuilt)
	a.watch.rebuilt = make(chan struct{})
}

// rebuilds returns a channel that is closed when the states were rebuilt.
func (a *App) rebuilds() <-chan struct{} {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.rebuilt
}

// signalProgress notifies watchers of other changes, such as the progress of a worker.
func (a *App) signalProgress() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.count++
}

// changes returns a channel that is closed when the log grows, and the number of changes so far.
func (a *App) changes() (<-chan struct{}, int) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.grown, a.watch.count
}

// Watch makes [App.Run] call f after the log has grown or a worker has made progress, in any process.
// f must not block.
func (a *App) Watch(f func()) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.watchers = append(a.watch.watchers, f)
}

// Run follows the commits of other processes and, unless the app is read-only, takes snapshots and
// runs the workers that no other process runs. When ctx ends, it takes snapshots that are due, for a few
// seconds at most, and returns. Callers should have stopped executing commands by then.
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
