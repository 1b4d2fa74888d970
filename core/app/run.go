package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A runner runs a worker in this process.
type runner struct {
	app      *App
	worker   Worker
	name     string // such as posts/digest
	made     any    // the worker; nil before start
	standing        // to be saved
	saved    int64  // the saved position
	done     bool   // something is not saved yet
	shown    string // the saved standing, without the lease, for watchers
}

// runWorker runs a worker whenever no other process does, until ctx ends.
func (a *App) runWorker(ctx context.Context, f *feature, w Worker) {
	r := &runner{app: a, worker: w, name: f.Name + "/" + w.name}
	waits := "" // the error that it waits for, if any
	for try := 1; ctx.Err() == nil; {
		wait := renew
		ok, err := r.start(ctx)
		if ok {
			err = r.work(ctx)
			r.stop(ctx)
		}
		_, stuck := errors.AsType[*StuckError](err)
		switch {
		case err == nil, ctx.Err() != nil, errors.Is(err, errLost):
			try, waits = 1, ""
		case stuck: // until the event is amended, or this process restarted
			if waits != err.Error() {
				waits = err.Error()
				a.o.Logger.Error("worker waits", "worker", r.name, "error", err)
			}
		default:
			a.o.Logger.Error("restarting worker", "worker", r.name, "error", err)
			wait = max(wait, a.o.Backoff(min(try, a.o.Tries)))
			try++
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// start acquires the lease and creates the worker.
func (r *runner) start(ctx context.Context) (ok bool, err error) {
	if r.standing, ok, err = r.app.acquire(ctx, r.name); !ok {
		return false, err
	}
	r.saved, r.made = r.Position, nil
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("create it: %w", panicked(p))
		}
		if err != nil {
			r.stop(ctx)
			ok = false
		}
	}()
	made, err := r.worker.begin(With(ctx, r.app))
	if err != nil {
		return false, fmt.Errorf("create it: %w", err)
	}
	if r.standing.State != nil {
		if err := r.app.restoreFields(r.name, r.worker, r.standing.State, made); err != nil {
			return false, err
		}
	}
	for len(r.Ticked) < len(r.worker.periods) {
		r.Ticked = append(r.Ticked, storable(r.app.o.Now()))
	}
	r.made = made // from here on its fields are saved
	if len(r.Ticks) >= len(r.worker.periods) {
		return true, nil
	}
	for len(r.Ticks) < len(r.worker.periods) {
		// Not 0: numbers that an older build has dropped from the store are not used again.
		r.Ticks = append(r.Ticks, r.app.o.Now().Unix())
	}
	return true, r.keep(ctx)
}

// restoreFields sets the fields of a worker to the saved ones.
func (a *App) restoreFields(name string, w Worker, state []byte, made any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		if err != nil {
			err = fmt.Errorf("the saved fields of worker %s do not fit %v: %w\nmake new fields optional (omitempty, omitzero or a pointer), or discard the saved fields:  %s workers reset %[1]s",
				name, w.fields.kind, err, a.o.Program)
		}
	}()
	return w.fields.decode(state, made)
}

// stop saves the worker and releases the lease, even if ctx has ended.
func (r *runner) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), renew)
	defer cancel()
	if r.made != nil {
		if err := r.encode(); err != nil {
			r.app.o.Logger.Warn("releasing worker", "worker", r.name, "error", err)
		}
	}
	if err := r.app.release(ctx, r.name, r.standing); err != nil {
		r.app.o.Logger.Warn("releasing worker", "worker", r.name, "error", err)
	}
}

// work handles events and ticks until ctx ends or another process has the lease.
func (r *runner) work(ctx context.Context) error {
	for {
		grown, _ := r.app.growth()
		if err := r.all(ctx); err != nil {
			return err
		}
		wait := renew
		for i, p := range r.worker.periods {
			wait = min(wait, r.Ticked[i].Add(p.interval).Sub(r.app.o.Now()))
		}
		select {
		case <-grown:
		case <-time.After(wait):
			if err := r.keep(ctx); err != nil { // the lease too
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// all handles everything that is pending now.
func (r *runner) all(ctx context.Context) error {
	if err := r.again(ctx); err != nil {
		return err
	}
	for {
		if err := r.hold(ctx); err != nil {
			return err
		}
		more, err := r.some(ctx)
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
	if r.done || r.Position-r.saved > 1000 {
		return r.keep(ctx)
	}
	return nil
}

// some handles the next events, and reports whether there may be more. It does not keep the log
// open while the worker runs, because that may take long.
func (r *runner) some(ctx context.Context) (more bool, err error) {
	const most = 256
	var list []Record
	bytes := 0
	for record, err := range r.app.store.Records(ctx, r.Position) {
		if err != nil {
			return false, err
		}
		list = append(list, record)
		if bytes += len(record.Data) + len(record.Result); len(list) == most || bytes > many {
			more = true
			break
		}
	}
	for _, record := range list {
		c, do, err := r.concerned(ctx, record)
		if err != nil {
			if _, stuck := errors.AsType[*StuckError](err); stuck {
				r.Trying, r.Tries, r.Error = record.Seq, 0, err.Error()
			}
			return false, err
		}
		if do != nil {
			if err := r.persist(ctx, record, c, do); err != nil {
				return false, err
			}
		} else if r.Trying == record.Seq {
			r.Trying, r.Tries, r.Error = 0, 0, "" // it was amended, or the worker no longer follows it
		}
		r.Position = record.Seq
	}
	return more, nil
}

// concerned returns the command of an event and the worker's method for it, nil if it has none. A
// worker that follows commands of a stuck feature waits at the event at which the feature is stuck,
// and gets its error.
func (r *runner) concerned(ctx context.Context, record Record) (c command, do func(any, context.Context, any, Event) error, err error) {
	if err := r.app.rlock(ctx); err != nil {
		return nil, nil, err
	}
	defer r.app.mu.RUnlock()
	d, p := r.app.resolve(record)
	of := d.concerned
	if d.of != nil {
		if of = d.of.feature; r.worker.on[d.of.kind] != nil {
			d.read(p)
		}
	}
	switch {
	case of == nil || !r.follows(of):
		return nil, nil, nil
	case of.stuck != nil && record.Seq >= of.stuck.Record.Seq:
		return nil, nil, of.stuck
	case d.err != nil:
		return nil, nil, r.app.stuckAt(record, d.err)
	case d.command == nil:
		return nil, nil, nil
	}
	return d.command, r.worker.on[d.of.kind], nil
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

// persist tries an event until it is done or must be set aside. Each try is saved first, so that an
// event that kills the process is not tried forever.
func (r *runner) persist(ctx context.Context, record Record, c command, do func(any, context.Context, any, Event) error) error {
	for {
		if r.Trying != record.Seq {
			r.Trying, r.Tries, r.Error = record.Seq, 0, ""
		}
		if r.Tries >= r.app.o.Tries {
			return r.setAside(ctx, record)
		}
		r.Tries++
		if err := r.keep(ctx); err != nil {
			return err
		}
		err := r.try(ctx, record, c, do)
		if err == nil {
			r.Trying, r.Tries, r.Error, r.done = 0, 0, "", true
			return nil
		}
		if ctx.Err() != nil {
			r.Tries-- // it was interrupted
			return ctx.Err()
		}
		if errors.Is(err, errLost) {
			return err // the other process handles it
		}
		r.Error = err.Error()
		if _, stuck := errors.AsType[*StuckError](err); stuck {
			r.Tries-- // it waits for a feature that it needs
			return err
		}
		r.app.o.Logger.Warn("worker failed", "worker", r.name, "event", record.Seq, "try", r.Tries, "error", err)
		if r.Tries >= r.app.o.Tries {
			continue
		}
		if err := r.pause(ctx, r.app.o.Backoff(r.Tries)); err != nil {
			return err
		}
	}
}

// pause waits, and renews the lease while it waits.
func (r *runner) pause(ctx context.Context, wait time.Duration) error {
	for left := wait; ; left -= renew {
		if err := r.keep(ctx); err != nil {
			return err
		}
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(min(left, renew)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// try calls the worker for an event, once, and renews the lease during the call.
func (r *runner) try(ctx context.Context, record Record, c command, do func(any, context.Context, any, Event) error) error {
	in := scope{app: r.app, work: &work{prefix: r.keyPrefix(strconv.FormatInt(record.Seq, 10))}}
	return r.leased(ctx, func(ctx context.Context) error { return do(r.made, in.with(ctx), c.value(), record.Event) })
}

// keyPrefix returns the start of the idempotency keys of the commands that a piece of work
// executes.
func (r *runner) keyPrefix(work string) string { return workPrefix + r.name + "/" + work + "/" }

// leased calls f, and renews the lease during the call. If the lease is lost, the context of f
// ends.
func (r *runner) leased(ctx context.Context, f func(context.Context) error) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	renewed := make(chan struct{})
	kept := r.standing // without the changes that f makes
	go func() {
		defer close(renewed)
		for {
			select {
			case <-done:
				return
			case <-time.After(renew):
				if err := r.app.save(ctx, r.name, &kept, nil); err != nil {
					cancel(err)
					return
				}
			}
		}
	}()
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		close(done)
		<-renewed
		r.Until = kept.Until
		if cause := context.Cause(ctx); errors.Is(cause, errLost) {
			err = cause
		}
		cancel(nil)
	}()
	return f(ctx)
}

// keep saves the standing of the worker and its exported fields.
func (r *runner) keep(ctx context.Context) error { return r.keepWith(ctx, nil) }

func (r *runner) keepWith(ctx context.Context, more func(Tx) error) error {
	if err := r.encode(); err != nil {
		return err
	}
	if err := r.app.save(ctx, r.name, &r.standing, more); err != nil {
		return err
	}
	r.saved, r.done = r.Position, false
	if shown := fmt.Sprint(r.Position, r.Trying, r.Tries, r.Error, r.Ticked); more != nil || shown != r.shown {
		r.shown = shown
		r.app.moved()
	}
	return nil
}

// hold renews the lease, unless it was renewed just now. It does not trust a clock that was set
// back.
func (r *runner) hold(ctx context.Context) error {
	if left := r.Until.Sub(r.app.o.Now()); left > lease-renew && left <= lease {
		return nil
	}
	return r.keep(ctx)
}

// encode stores the worker's exported fields in its standing.
func (r *runner) encode() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("saving its fields: %w", panicked(p))
		}
	}()
	state, err := strictjson.Marshal(r.made)
	if err != nil {
		return fmt.Errorf("saving its fields: %w", err)
	}
	if r.standing.State = state; string(state) == "{}" {
		r.standing.State = nil
	}
	return nil
}

// ended is the error of an event whose handling ended with the process.
const ended = "the process ended while it was tried"

// setAside sets an event aside for a person to look at, and moves on to the next.
func (r *runner) setAside(ctx context.Context, record Record) error {
	text := r.Error
	if text == "" {
		text = ended
	}
	aside := SetAside{Seq: record.Seq, Time: storable(r.app.o.Now()), Tries: r.Tries, Error: text}
	r.app.o.Logger.Error("worker set event aside", "worker", r.name, "event", record.Seq, "error", text)
	r.Position, r.Trying, r.Tries, r.Error = record.Seq, 0, 0, ""
	return r.keepWith(ctx, func(tx Tx) error { return aside.put(tx, r.name) })
}
