package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// handleWithRetry retries an event until it succeeds or is set aside. Each try is saved first, so
// that an event that kills the process is not retried forever.
func (r *runner) handleWithRetry(ctx context.Context, record eventlog.Record, handle func(context.Context) error) error {
	for {
		if r.Trying != record.Seq {
			r.Trying, r.Tries, r.Error = record.Seq, 0, ""
		}
		if r.Tries > 0 { // the event may have been amended or erased since the last try
			var err error
			if record, err = findRecord(ctx, r.app.store, record.Seq); err != nil {
				return err
			}
			if handle, err = r.handlerFor(ctx, record); err != nil {
				return err
			}
			if handle == nil {
				r.Trying, r.Tries, r.Error, r.unsaved = 0, 0, "", true
				return nil
			}
		}
		if r.Tries >= r.app.o.Tries {
			return r.setAside(ctx, record)
		}
		r.Tries++
		saved, err := r.beginTry(ctx)
		if err != nil {
			return err
		}
		err = handle(ctx)
		if saveErr := saved(); errors.Is(saveErr, errLost) || saveErr != nil && err != nil {
			r.Tries--
			return saveErr // otherwise the next save finds out whether the store still fails
		}
		if err == nil {
			r.Trying, r.Tries, r.Error, r.unsaved = 0, 0, "", true
			return nil
		}
		if ctx.Err() != nil {
			r.Tries-- // interrupted
			return ctx.Err()
		}
		if errors.Is(err, errLost) {
			return err // the other process handles it
		}
		if isFailure(err) {
			r.Tries-- // the store does not work
			return err
		}
		r.Error = err.Error()
		if _, stuck := errors.AsType[*StuckError](err); stuck {
			r.Tries-- // a feature that the worker uses is stuck
			return err
		}
		r.app.o.Logger.Warn("worker failed", "worker", r.name, "event", record.Seq, "try", r.Tries, "error", err)
		r.scenario.failed(r, record.Seq, err)
		if r.Tries >= r.app.o.Tries {
			continue
		}
		if err := r.pause(ctx, r.app.o.Backoff(r.Tries)); err != nil {
			return err
		}
	}
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

// beginTry saves the progress before a try, and returns a function that returns the error of the
// save.
//
// If the worker follows one event after another, the save goes on during the try, so that a command
// of the try shares its commit. That is safe right after the previous save: no other process can
// have taken over since (see missesToEnd). The first two events since start may have killed another
// process before it could save the try, so each try of these is saved first.
func (r *runner) beginTry(ctx context.Context) (saved func() error, err error) {
	if r.Tries == 1 {
		r.tried++
	}
	if saved, err = r.beginSave(ctx, nil); err != nil {
		return nil, err
	}
	if r.tried > 2 && r.Tries == 1 && time.Since(r.savedAt) < sessionInterval {
		return saved, nil
	}
	return func() error { return nil }, saved()
}

// pause waits, and renews the lease meanwhile. In a scenario, which does not wait, it returns
// errPaused.
func (r *runner) pause(ctx context.Context, wait time.Duration) error {
	if r.scenario != nil {
		r.retryAt = r.app.o.Now().Add(wait)
		return cmp.Or(r.save(ctx), errPaused)
	}
	for left := wait; ; left -= renewInterval {
		if err := r.save(ctx); err != nil {
			return err
		}
		if left <= 0 {
			return nil
		}
		select {
		case <-time.After(min(left, renewInterval)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// processEnded is the error of an event during which the process ended.
const processEnded = "the process ended while it handled the event"

// setAside records that the worker has stopped trying an event, and moves on to the next.
func (r *runner) setAside(ctx context.Context, record eventlog.Record) error {
	text := cmp.Or(r.Error, processEnded)
	aside := SetAside{Seq: record.Seq, Time: storable(r.app.o.Now()), Tries: r.Tries, Error: text}
	r.app.o.Logger.Error("worker set event aside", "worker", r.name, "event", record.Seq, "error", text)
	r.scenario.setAside(r, aside)
	r.Position, r.Trying, r.Tries, r.Error = record.Seq, 0, 0, ""
	return r.saveWith(ctx, func(tx eventlog.Tx) error { return aside.put(tx, r.name) })
}

// retryRequested retries the events that [Admin.Retry] was called for.
func (r *runner) retryRequested(ctx context.Context) error {
	prefix := strings.TrimSuffix(retryDocument(r.name, 0), fmt.Sprintf("%019d", 0))
	names, err := r.app.store.Names(ctx, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		seq, err := strconv.ParseInt(strings.TrimPrefix(name, prefix), 10, 64)
		if err != nil {
			return err
		}
		if err := r.retry(ctx, name, seq); err != nil {
			return err
		}
	}
	return nil
}

// retry retries an event that was set aside. It removes the request first, so that an event that
// kills the process is not retried forever.
func (r *runner) retry(ctx context.Context, requestDoc string, seq int64) error {
	var before []byte
	aside := SetAside{Seq: seq, Time: storable(r.app.o.Now()), Error: processEnded}
	err := r.saveWith(ctx, func(tx eventlog.Tx) (err error) {
		if before, err = tx.Get(asideDocument(r.name, seq)); err != nil {
			return err
		}
		var last SetAside
		_ = json.Unmarshal(before, &last) // only the tries are used
		aside.Tries = last.Tries + 1
		return errors.Join(tx.Put(requestDoc, nil), aside.put(tx, r.name))
	})
	if err != nil {
		return err
	}
	err = r.handleSetAside(ctx, seq)
	if ctx.Err() != nil { // interrupted
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), renewInterval)
		defer cancel()
		return errors.Join(ctx.Err(), r.saveWith(late, func(tx eventlog.Tx) error {
			return errors.Join(tx.Put(requestDoc, []byte("true")), tx.Put(asideDocument(r.name, seq), before))
		}))
	}
	if err != nil {
		r.scenario.failed(r, seq, err)
		r.scenario.setAside(r, aside)
	}
	return r.saveWith(ctx, func(tx eventlog.Tx) error {
		if err == nil {
			return tx.Put(asideDocument(r.name, seq), nil)
		}
		aside.Error = err.Error()
		return aside.put(tx, r.name)
	})
}

func (r *runner) handleSetAside(ctx context.Context, seq int64) error {
	record, err := findRecord(ctx, r.app.store, seq)
	if err != nil {
		return err
	}
	handle, err := r.handlerFor(ctx, record)
	if err != nil || handle == nil {
		return err
	}
	return handle(ctx)
}
