package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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

	seenOwner string    // of the lease when it was last read
	seenUntil time.Time // the same
	seenAt    time.Time // when the lease was first read like this
	ended     string    // session of the owner, which has ended
}

// runWorker runs a worker while no other process runs it, until ctx ends.
func (a *App) runWorker(ctx context.Context, f *feature, w Worker) {
	r := &runner{app: a, worker: w, name: f.Name + "/" + w.name}
	waitingFor := "" // the logged error of a stuck feature
	for try := 1; ctx.Err() == nil; {
		begin, rebuilt := time.Now(), a.rebuilds()
		ok, err := r.start(ctx)
		if ok {
			err = r.work(ctx)
			r.stop(ctx)
		}
		if err == nil {
			try, waitingFor = 1, ""
			r.waitForLease(ctx)
			continue
		}
		wait := renewInterval
		_, stuck := errors.AsType[*StuckError](err)
		switch {
		case ctx.Err() != nil, errors.Is(err, errLost):
			try, waitingFor, rebuilt = 1, "", nil
		case stuck: // until the event is amended, or the process is restarted
			if waitingFor != err.Error() {
				waitingFor = err.Error()
				a.o.Logger.Error("worker waits", "worker", r.name, "error", err)
			}
		default: // of the store, or the worker cannot be created
			if ok && time.Since(begin) > leaseDuration {
				try = 1
			}
			a.logError(slog.LevelError, "restarting worker", err, "worker", r.name)
			wait = min(max(a.o.Backoff(min(try, a.o.Tries)), sessionInterval), leaseDuration)
			try, rebuilt = try+1, nil
		}
		select {
		case <-time.After(wait):
		case <-rebuilt:
		case <-ctx.Done():
		}
	}
}

// waitForLease waits until the lease of another process may be free: for a while, or until the
// session of its owner has ended.
func (r *runner) waitForLease(ctx context.Context) {
	wait := renewInterval
	if r.app.monitor != nil {
		wait = max(sessionInterval, min(wait, leaseDuration-time.Since(r.seenAt)))
	}
	w := r.app.addWaiter(r.Session)
	defer r.app.removeWaiter(w)
	select {
	case <-time.After(wait):
	case <-w.ended:
		r.ended = w.session
	case <-ctx.Done():
	}
}

// start acquires the lease and creates the worker.
func (r *runner) start(ctx context.Context) (ok bool, err error) {
	if ok, err = r.acquire(ctx); !ok {
		return false, err
	}
	r.savedPosition, r.instance, r.tried = r.Position, nil, 0
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("create worker: %w", panics.Error(p))
		}
		if err != nil {
			r.stop(ctx)
			ok = false
		}
	}()
	instance, err := r.worker.create(With(ctx, r.app))
	if err != nil {
		return false, fmt.Errorf("create worker: %w", err)
	}
	if r.State != nil {
		if err := r.app.restoreFields(r.name, r.worker, r.State, instance); err != nil {
			return false, err
		}
	}
	for len(r.LastTick) < len(r.worker.periodic) {
		r.LastTick = append(r.LastTick, storable(r.app.o.Now()))
	}
	r.instance = instance // from here on its fields are saved
	if len(r.TickNumber) >= len(r.worker.periodic) {
		return true, nil
	}
	for len(r.TickNumber) < len(r.worker.periodic) {
		// Not 0: an older build may have dropped the count, and its numbers must not be reused.
		r.TickNumber = append(r.TickNumber, r.app.o.Now().Unix())
	}
	return true, r.save(ctx)
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

// stop saves the worker and releases the lease, even if ctx has ended.
func (r *runner) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewInterval)
	defer cancel()
	if r.instance != nil {
		if err := r.encodeFields(); err != nil {
			r.app.o.Logger.Warn("release worker", "worker", r.name, "error", err)
		}
	}
	if err := r.app.release(ctx, r.name, r.progress); err != nil {
		r.app.logError(slog.LevelWarn, "release worker", err, "worker", r.name)
	}
}

// work handles events and ticks until ctx ends or another process has the lease.
func (r *runner) work(ctx context.Context) error {
	for {
		grown, _ := r.app.changes()
		if err := r.handlePending(ctx); err != nil {
			return err
		}
		wait := renewInterval
		for i, p := range r.worker.periodic {
			wait = min(wait, r.LastTick[i].Add(p.interval).Sub(r.app.o.Now()))
		}
		select {
		case <-grown:
		case <-time.After(wait):
			if err := r.save(ctx); err != nil { // renews the lease
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// handlePending handles the events, retries and ticks that are pending now.
func (r *runner) handlePending(ctx context.Context) error {
	if err := r.retryRequested(ctx); err != nil {
		return err
	}
	for {
		if err := r.renew(ctx); err != nil {
			return err
		}
		more, err := r.handleNext(ctx)
		if err != nil {
			return err
		}
		if err := r.tick(ctx); err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if r.unsaved || r.Position-r.savedPosition > 1000 {
		return r.save(ctx)
	}
	return nil
}

// tick calls the periodic methods that are due.
func (r *runner) tick(ctx context.Context) error {
	for i, p := range r.worker.periodic {
		now := r.app.o.Now()
		if r.LastTick[i].After(now) {
			r.LastTick[i] = storable(now) // the clock was set back
		}
		if now.Before(r.LastTick[i].Add(p.interval)) {
			continue
		}
		if err := r.tickOnce(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// tickOnce calls a periodic method once. It saves and logs errors, and does not retry.
//
// Ticks are numbered, and the number is part of the idempotency keys. If the process dies before it
// saves a tick, the tick is repeated with the same number, so its commands are not executed again.
// A number, unlike a time, does not change with the clock or with the interval of another build.
func (r *runner) tickOnce(ctx context.Context, i int) error {
	if err := r.renew(ctx); err != nil {
		return err
	}
	due := r.LastTick[i].Add(r.worker.periodic[i].interval)
	if now := storable(r.app.o.Now()); due.After(now) { // WorkOnce does not wait
		due = now
	}
	in := scope{app: r.app, actor: r.actor(), call: &workerCall{due: due, cause: eventlog.Cause{Worker: r.name}, prefix: r.keyPrefix(fmt.Sprintf("every/%d/%d", i, r.TickNumber[i]+1)), byData: true}}
	err := r.callLeased(ctx, func(ctx context.Context) error { return r.worker.periodic[i].method(r.instance, in.with(ctx)) })
	if ctx.Err() != nil || errors.Is(err, errLost) {
		return errors.Join(ctx.Err(), err)
	}
	r.LastTick[i] = storable(r.app.o.Now())
	r.TickNumber[i]++
	if r.Trying == 0 {
		r.Error = ""
	}
	if err != nil {
		r.app.logError(slog.LevelWarn, "worker failed", err, "worker", r.name, "every", r.worker.periodic[i].interval)
		if !isFailure(err) {
			r.Error = err.Error()
		}
	}
	return r.save(ctx)
}

// handleNext handles the next batch of events, and reports whether there may be more. It reads the
// batch first, so that the log is not open while a slow worker runs.
func (r *runner) handleNext(ctx context.Context) (more bool, err error) {
	const maxBatch = 256
	var list []eventlog.Record
	bytes := 0
	for record, err := range r.app.store.Records(ctx, r.Position) {
		if err != nil {
			return false, err
		}
		list = append(list, record)
		if bytes += len(record.Data) + len(record.Result); len(list) == maxBatch || bytes > maxBatchBytes {
			more = true
			break
		}
	}
	for _, record := range list {
		handle, err := r.handlerFor(ctx, record)
		if err != nil {
			if _, stuck := errors.AsType[*StuckError](err); stuck {
				r.Trying, r.Tries, r.Error = record.Seq, 0, err.Error()
			}
			return false, err
		}
		if handle != nil {
			if err := r.handleWithRetry(ctx, record, handle); err != nil {
				return false, err
			}
		} else if r.Trying == record.Seq {
			r.Trying, r.Tries, r.Error = 0, 0, "" // the event was amended, or is no longer followed
		}
		r.Position = record.Seq
	}
	return more, nil
}

// handlerFor returns a function that calls the worker for an event and renews the lease during the
// call; nil if the worker does not follow the event. If the worker follows a stuck feature,
// handlerFor returns the error of that feature for the event at which it is stuck, and for all
// later events.
func (r *runner) handlerFor(ctx context.Context, record eventlog.Record) (handle func(context.Context) error, err error) {
	if err := r.lockFor(ctx, record); err != nil {
		return nil, err
	}
	defer r.app.mu.RUnlock()
	d := decodedEvent{Record: record}
	reader := newAmendmentReader(storeReader{ctx, r.app.store}, r.app.amendments, true)
	if err := r.app.decodeFor(reader, &d, func(t *registeredType) bool { return r.worker.on[t.kind] != nil }); err != nil {
		return nil, err
	}
	feature := d.affected
	var method eventMethod
	if d.cmdType != nil {
		feature, method = d.cmdType.feature, r.worker.on[d.cmdType.kind]
	}
	switch {
	case feature == nil || !r.follows(feature):
		return nil, nil
	case feature.stuck != nil && record.Seq >= feature.stuck.Record.Seq:
		return nil, feature.stuck
	case d.err != nil:
		return nil, r.app.stuckAt(record, d.err)
	case d.command == nil:
		return nil, nil
	}
	return func(ctx context.Context) error {
		in := scope{app: r.app, actor: r.actor(), call: &workerCall{cause: eventlog.Cause{Event: record.Seq, Worker: r.name}, prefix: r.keyPrefix(strconv.FormatInt(record.Seq, 10))}}
		return r.callLeased(ctx, func(ctx context.Context) error {
			return method(r.instance, in.with(ctx), d.command.value(), eventOf(record))
		})
	}, nil
}

// lockFor locks the states for reading. They include the event, and are current, or were so at the
// last save, if that was a moment ago: a worker that follows one event after another need not ask
// the store.
func (r *runner) lockFor(ctx context.Context, record eventlog.Record) error {
	a := r.app
	if r.Trying != record.Seq && time.Since(r.savedAt) < sessionInterval {
		if err := a.lockToRead(ctx); err != nil {
			return err
		}
		if a.isValid() && a.seq >= record.Seq {
			return nil
		}
		a.mu.RUnlock()
	}
	return a.lockCurrent(ctx)
}

// follows reports whether the worker follows a command of a feature.
func (r *runner) follows(f *feature) bool {
	for kind := range r.worker.on {
		if c := r.app.commands[kind]; c != nil && c.feature == f {
			return true
		}
	}
	return false
}

// actor returns the actor of the commands that the worker executes.
func (r *runner) actor() string { return "worker:" + r.name }

// keyPrefix returns the prefix of the idempotency keys of the commands that the worker executes.
func (r *runner) keyPrefix(work string) string { return workPrefix + r.name + "/" + work + "/" }

// callLeased calls f, and renews the lease during the call. If the lease is lost, it cancels the
// context of f.
func (r *runner) callLeased(ctx context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
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
		if cause := context.Cause(ctx); errors.Is(cause, errLost) {
			err = cause
		}
		cancel(nil)
	}()
	defer panics.Catch(&err)
	return f(ctx)
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

// renew renews the lease if it was not renewed recently, or if the clock was set back.
func (r *runner) renew(ctx context.Context) error {
	if left := r.Until.Sub(r.app.o.Now()); left > leaseDuration-renewInterval && left <= leaseDuration {
		return nil
	}
	return r.save(ctx)
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
