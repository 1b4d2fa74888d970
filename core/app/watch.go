package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// poll is how often a process looks for what others have committed, while nobody calls.
const poll = 250 * time.Millisecond

// A watch tells who waits that the log has grown.
type watch struct {
	mu    sync.Mutex
	grown chan struct{} // closed when it has, and made anew
	times int           // how often
	tell  []func()
}

// signal wakes those who wait.
func (a *App) signal() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.grown)
	a.watch.grown = make(chan struct{})
	a.watch.times++
}

// moved has those told who watch, soon: something that they see is another, and the log is the same.
func (a *App) moved() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.times++
}

// growth is closed at the next signal; it also tells how many there were before.
func (a *App) growth() (<-chan struct{}, int) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.grown, a.watch.times
}

// Watch has f called, by [App.Run], after the log has grown or a worker has moved, in any process. It is not to block.
func (a *App) Watch(f func()) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.tell = append(a.watch.tell, f)
}

// Run does what goes on beside commands and queries until ctx ends: it looks for what other processes commit,
// takes snapshots, and runs the workers that no other process runs.
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

// lookOut tells those who watch of what has been committed.
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

// seen is what those see who watch: it is the same when no more was committed than that a lease goes on.
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
