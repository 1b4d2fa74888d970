package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A Scenario runs the workers of an app step by step, on a clock that stands still until it is
// advanced. It shows, on a copy of a log, what workers would do in two days. Calls of workers to
// other systems are real. A Scenario is not safe for concurrent use, except its App.
type Scenario struct {
	App *App // runs on the clock; do not call its Run

	clock    *scenarioClock
	runners  []*runner
	failures []WorkerFailure // of this step
	passes   int             // of the workers over the log, in this step
}

// A WorkerFailure is the failure of a worker during a step of a [Scenario].
type WorkerFailure struct {
	Worker string `json:"worker"`          // such as posts/digest
	Event  int64  `json:"event,omitempty"` // that it handled; 0 for a periodic method or the start of the worker
	Count  int    `json:"count"`           // how often it failed during the step
	Aside  bool   `json:"aside,omitempty"` // the event was set aside
	Error  string `json:"error"`           // the last one
}

// CopyToMemory returns a copy of a view in memory, without snapshots and without the leases of
// processes that run workers.
func CopyToMemory(ctx context.Context, from eventlog.View) (*eventlog.Memory, error) {
	store := eventlog.NewMemory()
	return store, store.Write(ctx, func(tx eventlog.Tx) error {
		if err := copyView(ctx, tx, from); err != nil {
			return err
		}
		names, err := tx.Names(workerDocument(""))
		for _, name := range names {
			worker := strings.TrimPrefix(name, workerDocument(""))
			s, readErr := readProgress(tx, worker)
			if readErr != nil {
				return readErr
			}
			s.Owner, s.Until, s.Session = "", time.Time{}, ""
			err = errors.Join(err, s.put(tx, worker))
		}
		return err
	})
}

// OpenScenario opens an app on a store that no process uses, such as that of [CopyToMemory]. It
// replaces o.Now: the clock shows the time of start. The caller closes the store.
func OpenScenario(ctx context.Context, store eventlog.Store, start time.Time, o Options, features ...Feature) (*Scenario, error) {
	s := &Scenario{clock: &scenarioClock{now: start}}
	o.Now, o.NoNewSnapshot, o.NoWorkers, o.ReadOnly = s.clock.Now, true, false, ""
	var err error
	if s.App, err = Open(ctx, store, o, features...); err != nil {
		return nil, err
	}
	for _, f := range s.App.features {
		for _, w := range f.Workers {
			s.runners = append(s.runners, &runner{app: s.App, worker: w, name: f.Name + "/" + w.name, scenario: s})
		}
	}
	return s, nil
}

// Now returns the time of the clock.
func (s *Scenario) Now() time.Time { return s.clock.Now() }

// Advance moves the clock forward. Meanwhile the workers do what is due, each at its time, as if a
// server ran: they handle events, call periodic methods, and retry.
func (s *Scenario) Advance(ctx context.Context, by time.Duration) ([]WorkerFailure, error) {
	if by < 0 {
		return nil, fmt.Errorf("advance the clock: %v is negative", by)
	}
	if err := s.begin(ctx, s.runners); err != nil {
		return nil, err
	}
	for end := s.Now().Add(by); ; {
		if err := s.settle(ctx, s.runners); err != nil {
			return s.failures, err
		}
		if !s.Now().Before(end) {
			return s.failures, nil
		}
		next := end
		for _, r := range s.runners {
			if at, ok := r.nextDue(); ok && at.Before(next) {
				next = at
			}
		}
		s.clock.set(next)
	}
}

// Work makes one worker, such as posts/digest, call its periodic methods, due or not, and handle
// all events, without waiting for a retry that is due later.
func (s *Scenario) Work(ctx context.Context, worker string) ([]WorkerFailure, error) {
	i := slices.IndexFunc(s.runners, func(r *runner) bool { return r.name == worker })
	if i < 0 {
		return nil, fmt.Errorf("worker %s does not exist", worker)
	}
	r := s.runners[i]
	if err := s.begin(ctx, s.runners[i:i+1]); err != nil || r.instance == nil {
		return s.failures, err
	}
	for i := range r.worker.periodic {
		if err := r.tickOnce(ctx, i); err != nil {
			return s.failures, fmt.Errorf("worker %s: %w", r.name, err)
		}
	}
	r.retryAt = time.Time{}
	return s.failures, s.settle(ctx, s.runners[i:i+1])
}

// begin begins a step: it starts the workers that do not run yet, and retries events on request.
func (s *Scenario) begin(ctx context.Context, runners []*runner) error {
	s.failures, s.passes = nil, 0
	for _, r := range runners {
		if r.instance == nil {
			ok, err := r.start(ctx)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				s.failed(r, 0, err)
				continue
			case !ok:
				return fmt.Errorf("worker %s: %w", r.name, errLost)
			}
		}
		if err := r.retryRequested(ctx); err != nil {
			return fmt.Errorf("worker %s: %w", r.name, err)
		}
	}
	return nil
}

// maxPasses limits how often workers do something in one step. Two days at an interval of ten
// seconds are below it.
const maxPasses = 20_000

// settle lets workers work until they have nothing to do at the time of the clock.
func (s *Scenario) settle(ctx context.Context, runners []*runner) error {
	for moved := true; moved; {
		moved = false
		for _, r := range runners {
			last, err := s.App.store.Last(ctx)
			if err != nil {
				return err
			}
			at, hasDue := r.nextDue()
			isDue := hasDue && !s.Now().Before(at)
			if r.instance == nil || !isDue && (!r.retryAt.IsZero() || r.Position >= last) {
				if r.Position > r.savedPosition { // for those who read the status
					err = r.save(ctx)
				}
				if err != nil {
					return fmt.Errorf("worker %s: %w", r.name, err)
				}
				continue
			}
			if s.passes++; s.passes > maxPasses {
				return fmt.Errorf("worker %s: it still has work after %d rounds of the workers; advance in shorter steps, unless it causes the events that it handles", r.name, maxPasses)
			}
			moved, r.retryAt = true, time.Time{}
			if err := r.handlePending(ctx); err != nil && !errors.Is(err, errPaused) {
				return fmt.Errorf("worker %s: %w", r.name, err)
			}
		}
	}
	return nil
}

// failed records a failure. s is nil outside of scenarios.
func (s *Scenario) failed(r *runner, seq int64, err error) {
	if s == nil {
		return
	}
	i := slices.IndexFunc(s.failures, func(f WorkerFailure) bool { return f.Worker == r.name && f.Event == seq })
	if i < 0 {
		i, s.failures = len(s.failures), append(s.failures, WorkerFailure{Worker: r.name, Event: seq})
	}
	s.failures[i].Count++
	s.failures[i].Error = err.Error()
}

// setAside records that a worker has stopped trying an event. s is nil outside of scenarios.
func (s *Scenario) setAside(r *runner, aside SetAside) {
	if s == nil {
		return
	}
	i := slices.IndexFunc(s.failures, func(f WorkerFailure) bool { return f.Worker == r.name && f.Event == aside.Seq })
	if i < 0 { // it failed before this step
		i, s.failures = len(s.failures), append(s.failures, WorkerFailure{Worker: r.name, Event: aside.Seq, Error: aside.Error})
	}
	s.failures[i].Aside = true
}

// errPaused ends the work of a runner of a [Scenario] until its retryAt.
var errPaused = errors.New("the worker waits for its next try")

// nextDue returns when a worker that has handled all events, or waits for a retry, has work again.
func (r *runner) nextDue() (at time.Time, ok bool) {
	if r.instance == nil || !r.retryAt.IsZero() {
		return r.retryAt, r.instance != nil
	}
	for i, p := range r.worker.periodic {
		if next := r.LastTick[i].Add(p.interval); !ok || next.Before(at) {
			at, ok = next, true
		}
	}
	return at, ok
}

// A scenarioClock stands still until it is set.
type scenarioClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *scenarioClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *scenarioClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}
