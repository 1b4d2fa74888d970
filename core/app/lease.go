package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/strictjson"
)

// A runner runs a worker in this process.
type runner struct {
	app      *App
	worker   Worker
	name     string // such as posts/digest
	instance any    // the worker; nil before start
	progress
	savedPosition int64
	savedAt       time.Time // when the last save began
	tried         int       // number of events that were tried since start
	unsaved       bool      // an event was handled since the last save
	lastShown     string    // the saved progress that watchers see
	unreleased    progress  // what stop could not save

	scenario *Scenario // nil for a runner in a server
	retryAt  time.Time // in a scenario, when the next try is due; zero if none is

	seenOwner string    // of the lease when it was last read
	seenUntil time.Time // the same
	seenAt    time.Time // when the lease was first read like this
	ended     string    // session of the owner, which has ended
}

// actor returns the actor of the commands that the worker executes.
func (r *runner) actor() string { return "worker:" + r.name }

// keyPrefix returns the prefix of the idempotency keys of the commands that the worker executes.
func (r *runner) keyPrefix(work string) string { return workPrefix + r.name + "/" + work + "/" }

// A process that runs a worker renews its lease. Another process takes over after the lease
// expires, as when the process hangs. If the store is an [eventlog.Monitor], another process takes
// over as soon as the session of the owner has ended, as when the process is killed.
const (
	leaseDuration = 15 * time.Second
	renewInterval = leaseDuration / 3
)

// A session counts as ended if the store reports so three times in a row at this interval. That
// gives a process that has lost its connections, for example because the database restarts, a
// second to reconnect.
//
// If another process takes over although the owner still works, both may handle the same event for
// a moment, as with a lease that expires while its owner is suspended. That is safe: commands of a
// worker have idempotency keys, which are the same in both processes, so they are executed once,
// and the previous owner can save nothing more: saveProgress returns errLost. Only effects outside
// of the log can be repeated, which [On] allows.
const (
	sessionInterval = 500 * time.Millisecond
	missesToEnd     = 3
)

// A progress is the stored progress and lease of a worker.
type progress struct {
	Position   int64           `json:"position"`          // last event that was handled
	Trying     int64           `json:"trying,omitempty"`  // event that is being handled
	Tries      int             `json:"tries,omitempty"`   // number of tries so far
	Error      string          `json:"error,omitempty"`   // of the last try
	LastTick   []time.Time     `json:"ticked,omitempty"`  // last tick of each periodic method
	TickNumber []int64         `json:"ticks,omitempty"`   // its number; see tickOnce
	State      json.RawMessage `json:"state,omitempty"`   // the worker's exported fields
	Owner      string          `json:"owner,omitempty"`   // the process that runs it
	Until      time.Time       `json:"until,omitzero"`    // when the lease expires
	Session    string          `json:"session,omitempty"` // of the owner; see [eventlog.Monitor]
}

// processName returns a unique name of this process.
func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:6])
}

// workerDocument, asideDocument and retryDocument return the names of a worker's documents: its
// progress, an event that it has set aside, and a request to retry that event.
func workerDocument(worker string) string { return "worker/" + worker }
func asideDocument(worker string, seq int64) string {
	return fmt.Sprintf("aside/%s/%019d", worker, seq)
}
func retryDocument(worker string, seq int64) string {
	return fmt.Sprintf("retry/%s/%019d", worker, seq)
}

func readProgress(from interface{ Get(string) ([]byte, error) }, worker string) (s progress, err error) {
	document, err := from.Get(workerDocument(worker))
	if err != nil || document == nil {
		return s, err
	}
	if err := json.Unmarshal(document, &s); err != nil {
		return s, fmt.Errorf("read progress of worker %s: %w", worker, err)
	}
	return s, nil
}

func (s progress) put(tx eventlog.Tx, worker string) error {
	document, err := strictjson.Marshal(s)
	if err != nil {
		return err
	}
	return tx.Put(workerDocument(worker), document)
}

// checkFields returns an error for each worker whose saved fields do not match its type.
func (a *App) checkFields(ctx context.Context) error {
	var errs []error
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			s, err := readProgress(storeReader{ctx, a.store}, name)
			if err == nil && s.State != nil {
				err = a.restoreFields(name, w, s.State, reflect.New(w.fields.kind).Interface())
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// restoreFields sets the saved fields of a worker.
func (a *App) restoreFields(name string, w Worker, state []byte, instance any) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("saved fields of worker %s do not fit %v: %w\nmake new fields optional (omitempty, omitzero or a pointer), or discard the saved fields:  %s workers reset %[1]s",
				name, w.fields.kind, err, a.o.Program)
		}
	}()
	defer panics.Catch(&err)
	return w.fields.decode(state, instance)
}

// encodeFields stores the worker's exported fields in its progress.
func (r *runner) encodeFields() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("save fields of the worker: %w", panics.Error(p))
		}
	}()
	state, err := strictjson.Marshal(r.instance)
	if err != nil {
		return fmt.Errorf("save fields of the worker: %w", err)
	}
	r.State = state
	if string(state) == "{}" {
		r.State = nil
	}
	return nil
}

// initWorkers saves the starting position of new workers, so that they miss no event from now on,
// even if this process dies.
func (a *App) initWorkers(ctx context.Context) error {
	initial := map[string]progress{}
	a.mu.RLock()
	seq := a.seq
	a.mu.RUnlock()
	for _, f := range a.features {
		for _, w := range f.Workers {
			name := f.Name + "/" + w.name
			document, err := a.store.Get(ctx, workerDocument(name))
			if err != nil {
				return err
			}
			switch {
			case document != nil:
			case w.fromStart:
				initial[name] = progress{}
			default:
				initial[name] = progress{Position: seq}
			}
		}
	}
	if len(initial) == 0 {
		return nil
	}
	return a.write(ctx, func(tx eventlog.Tx) error {
		for name, s := range initial {
			document, err := tx.Get(workerDocument(name))
			if err == nil && document == nil {
				err = s.put(tx, name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// isFree reports whether a process may take the lease of the worker. A lease that ends too far in
// the future counts as free: the clock was set back, and its owner, if alive, renews it soon.
func (s progress) isFree(process string, now time.Time) bool {
	left := s.Until.Sub(now)
	return s.Owner == "" || s.Owner == process || left < 0 || left > 2*leaseDuration
}

// observe records when this process first saw the lease of the worker as it is.
func (r *runner) observe(s progress) {
	if s.Owner != r.seenOwner || !s.Until.Equal(r.seenUntil) {
		r.seenOwner, r.seenUntil, r.seenAt = s.Owner, s.Until, time.Now()
	}
}

// mayTake reports whether this process may take the lease of the worker, which it has observed. If
// the store is a monitor, other processes may run on machines with other clocks. Then a lease has
// expired if its owner has not renewed it for as long as this process has observed it.
func (r *runner) mayTake(s progress) bool {
	a := r.app
	if a.monitor == nil || s.Session == "" || s.Owner == a.process {
		return s.isFree(a.process, a.o.Now())
	}
	return s.Session == r.ended || time.Since(r.seenAt) >= leaseDuration
}

// acquire takes the lease of the worker, unless another process has it.
func (r *runner) acquire(ctx context.Context) (ok bool, err error) {
	a := r.app
	if r.progress, err = readProgress(storeReader{ctx, a.store}, r.name); err != nil {
		return false, err
	}
	if r.observe(r.progress); !r.mayTake(r.progress) {
		return false, nil
	}
	err = a.write(ctx, func(tx eventlog.Tx) error {
		if r.progress, err = readProgress(tx, r.name); err != nil {
			return err
		}
		r.observe(r.progress)
		if ok = r.mayTake(r.progress); !ok {
			return nil
		}
		if r.Owner == a.process && r.Trying == r.unreleased.Trying {
			r.Tries = min(r.Tries, r.unreleased.Tries) // without a try that an outage interrupted
		}
		a.lease(&r.progress)
		return r.put(tx, r.name)
	})
	return ok && err == nil, err
}

// lease gives this process the lease of a worker, or renews it.
func (a *App) lease(s *progress) {
	s.Owner, s.Until, s.Session = a.process, storable(a.o.Now().Add(leaseDuration)), ""
	if a.monitor != nil {
		s.Session = a.monitor.Session()
	}
}

// write writes to the store, and again after a conflict, which happens if the store has lost its
// connection. f only changes the transaction.
func (a *App) write(ctx context.Context, f func(eventlog.Tx) error) (err error) {
	for range maxTries {
		if err = a.store.Write(ctx, f); !errors.Is(err, eventlog.ErrConflict) {
			break
		}
	}
	return err
}

// saveProgress saves the progress of a worker, renews the lease, and calls more, in one
// transaction, together with waiting commands. It returns errLost if another process has the lease.
func (a *App) saveProgress(ctx context.Context, worker string, s *progress, more func(eventlog.Tx) error) error {
	return a.save(ctx, func(tx eventlog.Tx) error {
		now, err := readProgress(tx, worker)
		if err != nil {
			return err
		}
		if now.Owner != a.process {
			return errLost
		}
		a.lease(s)
		if more != nil {
			if err := more(tx); err != nil {
				return err
			}
		}
		return s.put(tx, worker)
	})
}

// save saves the progress of the worker and its exported fields, and renews the lease.
func (r *runner) save(ctx context.Context) error { return r.saveWith(ctx, nil) }

// saveWith is save with more changes in the same transaction.
func (r *runner) saveWith(ctx context.Context, more func(eventlog.Tx) error) error {
	saved, err := r.beginSave(ctx, more)
	if err != nil {
		return err
	}
	return saved()
}

// beginSave starts to save the progress as it is now, and returns a function that waits for the
// end.
func (r *runner) beginSave(ctx context.Context, more func(eventlog.Tx) error) (saved func() error, err error) {
	if err := r.encodeFields(); err != nil {
		return nil, err
	}
	s, begin, done := r.progress, time.Now(), make(chan error, 1)
	go func() { done <- r.app.saveProgress(ctx, r.name, &s, more) }()
	return func() error {
		if err := <-done; err != nil {
			return err
		}
		r.Until, r.savedAt, r.savedPosition, r.unsaved = s.Until, begin, s.Position, false
		if shown := fmt.Sprint(s.Position, s.Trying, s.Tries, s.Error, s.LastTick); more != nil || shown != r.lastShown {
			r.lastShown = shown
			r.app.signalProgress()
		}
		return nil
	}, nil
}

// release releases the lease, so that another process can take over without waiting.
func (a *App) release(ctx context.Context, worker string, s progress) error {
	return a.write(ctx, func(tx eventlog.Tx) error {
		now, err := readProgress(tx, worker)
		if err != nil || now.Owner != a.process {
			return err
		}
		s.Owner, s.Until, s.Session = "", time.Time{}, ""
		return s.put(tx, worker)
	})
}

// callLeased calls f, and renews the lease during the call. If a renewal fails, it cancels the
// context of f. It returns that error if the lease is lost, or f fails.
func (r *runner) callLeased(parent context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	renewed := make(chan struct{})
	before := r.progress // without the changes that f makes
	go func() {
		defer close(renewed)
		for {
			select {
			case <-done:
				return
			case <-time.After(renewInterval):
				if err := r.app.saveProgress(ctx, r.name, &before, nil); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	defer func() {
		close(done)
		<-renewed
		r.Until = before.Until
		cause := context.Cause(ctx)
		if errors.Is(cause, errLost) || err != nil && cause != nil && parent.Err() == nil {
			err = cause
		}
		cancel(nil)
	}()
	defer panics.Catch(&err)
	return f(ctx)
}

// renew renews the lease if it was not renewed recently, or if the clock was set back.
func (r *runner) renew(ctx context.Context) error {
	if left := r.Until.Sub(r.app.o.Now()); left > leaseDuration-renewInterval && left <= leaseDuration {
		return nil
	}
	return r.save(ctx)
}

// addWaiter adds a waiter for the session of an owner. The caller removes it.
func (a *App) addWaiter(session string) *waiter {
	w := &waiter{session: session, ended: make(chan struct{})}
	a.waitersMu.Lock()
	defer a.waitersMu.Unlock()
	a.waiters[w] = true
	return w
}

func (a *App) removeWaiter(w *waiter) {
	a.waitersMu.Lock()
	defer a.waitersMu.Unlock()
	delete(a.waiters, w)
}

// watchSessions notifies the waiters when their sessions have ended, until ctx ends. It asks the
// store once for all of them.
func (a *App) watchSessions(ctx context.Context) {
	ticker := time.NewTicker(sessionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		var sessions []string
		a.waitersMu.Lock()
		for w := range a.waiters {
			if w.session != "" && !slices.Contains(sessions, w.session) {
				sessions = append(sessions, w.session)
			}
		}
		a.waitersMu.Unlock()
		if sessions == nil {
			continue
		}
		ended, err := a.monitor.Ended(ctx, sessions)
		a.waitersMu.Lock()
		for w := range a.waiters {
			if err != nil || !slices.Contains(ended, w.session) {
				w.misses = 0
			} else if w.misses++; w.misses == missesToEnd {
				close(w.ended)
			}
		}
		a.waitersMu.Unlock()
	}
}
