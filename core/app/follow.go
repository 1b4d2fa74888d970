package app

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

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
