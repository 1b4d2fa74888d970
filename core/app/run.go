package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/panics"
)

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
		r.unreleased = r.progress
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
			r.scenario.failed(r, 0, err)
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

// WorkOnce makes the workers with the given names, such as posts/digest, call their periodic
// methods once, due or not, and handle all events. Without names, all workers do so. It is for
// tests: it returns the first error instead of retrying, and no other process may run the workers.
func (a *App) WorkOnce(ctx context.Context, names ...string) error {
	var runners []*runner
	for _, f := range a.features {
		for _, w := range f.Workers {
			r := &runner{app: a, worker: w, name: f.Name + "/" + w.name}
			if len(names) > 0 && !slices.Contains(names, r.name) {
				continue
			}
			if ok, err := r.start(ctx); !ok {
				return fmt.Errorf("worker %s: %w", r.name, cmp.Or(err, errLost))
			}
			defer r.stop(ctx)
			runners = append(runners, r)
		}
	}
	if len(runners) < len(names) {
		return fmt.Errorf("workers %q: the app has only %d of them", names, len(runners))
	}
	for _, r := range runners {
		for i := range r.worker.periodic {
			err := r.tickOnce(ctx, i)
			if err == nil && r.Error != "" {
				err = errors.New(r.Error)
			}
			if err != nil {
				return fmt.Errorf("worker %s: %w", r.name, err)
			}
		}
	}
	for moved := true; moved; {
		moved = false
		for _, r := range runners {
			before := r.Position
			if err := r.handleExisting(ctx); err != nil {
				return fmt.Errorf("worker %s: %w", r.name, err)
			}
			moved = moved || r.Position > before
		}
	}
	return nil
}

// handleExisting handles the events after r.Position that exist now. It stops at the first error.
func (r *runner) handleExisting(ctx context.Context) error {
	var records []eventlog.Record
	for record, err := range r.app.store.Records(ctx, r.Position) {
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	for _, record := range records {
		handle, err := r.handlerFor(ctx, record)
		if err == nil && handle != nil {
			err = handle(ctx)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", record.Seq, err)
		}
		r.Position = record.Seq
	}
	return r.save(ctx)
}
