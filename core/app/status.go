package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/statestream"
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
	Stale    bool     `json:"stale,omitempty"`  // queries answer as of the event before Stuck
}

// Status applies all committed events, and returns the status of the app, for people. For a health
// check, which must not wait, use [App.Health].
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
		if err := statestream.Check(f.State.kind); err != nil {
			status.Unkept = err.Error()
		}
		if f.stuck != nil {
			status.Stuck, status.Stale = f.stuck.Error(), !f.stuck.Stopped
		}
		s.Features = append(s.Features, status)
	}
	return s, nil
}

// Dump applies all committed events, and returns the states as JSON, by feature. It fails if a
// feature is stuck. Use it in tests, to compare states.
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

func (s SetAside) put(tx eventlog.Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(asideDocument(worker, s.Seq), document)
}

// Workers returns the status of the workers of the app's features, in any process. Positions can
// lag for workers that ignore most events. [Admin.Workers] also returns workers that were removed.
func (a *App) Workers(ctx context.Context) ([]WorkerStatus, error) {
	var names []string
	for _, f := range a.features {
		for _, w := range f.Workers {
			names = append(names, f.Name+"/"+w.name)
		}
	}
	all, err := readWorkers(ctx, a.store)
	return slices.DeleteFunc(all, func(w WorkerStatus) bool { return !slices.Contains(names, w.Name) }), err
}

// readWorkers returns the status of all workers that ever ran on a store.
func readWorkers(ctx context.Context, s eventlog.Store) ([]WorkerStatus, error) {
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

func setAsides(ctx context.Context, s eventlog.Store, worker string) ([]SetAside, error) {
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

// A Health reports whether an app can answer calls, as of the app's last use of the store.
type Health struct {
	Store    string            // unreachable, full or failed; empty if the store works
	Features map[string]string // "stale" or "stopped", by feature, if it does not follow the log
}

// Health returns the health of the app. It does not wait for commands, nor for a rebuild of the
// states: meanwhile, features are as they were.
func (a *App) Health() Health {
	h := Health{Store: a.store.failure(), Features: map[string]string{}}
	if features := a.featureHealth.Load(); features != nil {
		h.Features = maps.Clone(*features)
	}
	return h
}
