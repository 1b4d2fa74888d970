package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Worker follows the log, and runs periodically.
type Worker struct {
	name      string
	create    func(context.Context) (any, error)
	fields    savedFields
	on        map[reflect.Type]eventMethod // by the type of the command
	periodic  []periodicMethod
	fromStart bool // a new worker starts with the first event
}

// An eventMethod is a method of worker w for the events of a command.
type eventMethod func(w any, ctx context.Context, c any, e Event) error

// A periodicMethod is a method of a worker that runs periodically.
type periodicMethod struct {
	interval time.Duration
	method   func(w any, ctx context.Context) error
}

// A WorkerOption configures a worker of type W.
type WorkerOption[W any] func(*Worker)

// savedFields decodes the exported fields of a worker strictly: unknown and missing fields are errors.
type savedFields struct {
	kind   reflect.Type
	decode func(state []byte, w any) error // w points to a worker
}

// WorkerOf returns a worker. The app calls create when the worker starts. A worker with a new name
// starts after the last event of the log or, with [FromStart], at the first event.
//
// The exported fields are saved as JSON with the position in the log, and restored after a restart.
// Saved fields that do not fit W stop the server at startup, so new fields of W must be optional: a
// pointer, omitempty or omitzero. See [Admin.ResetWorker].
func WorkerOf[W any](name string, create func(context.Context) (*W, error), options ...WorkerOption[W]) Worker {
	w := Worker{
		name:   name,
		create: func(ctx context.Context) (any, error) { return create(ctx) },
		on:     map[reflect.Type]eventMethod{},
	}
	decoder := &strictjson.Decoder{Exact: true}
	w.fields = savedFields{reflect.TypeFor[W](), func(state []byte, w any) error { return decoder.Decode(state, w.(*W)) }}
	for _, option := range options {
		option(&w)
	}
	return w
}

// On makes a worker receive each command of a type, of any feature, in the order of the log, at
// least once. If f fails, it is retried with a growing delay, until the event is set aside.
//
// Commands that f executes with [Do] are idempotent: for an event, the nth command of a type is
// executed once, however often f is retried. To execute a different command in a retry, give it a key
// with [WithKey].
func On[W, C any](f func(*W, context.Context, C, Event) error) WorkerOption[W] {
	return func(w *Worker) {
		w.on[reflect.TypeFor[C]()] = func(w any, ctx context.Context, c any, e Event) error {
			return f(w.(*W), ctx, c.(C), e)
		}
	}
}

// Every makes a worker call f at an interval. The interval continues across restarts. Intervals that pass
// while no process runs result in one call.
//
// If the process dies during a call or right after it, the call is repeated. Commands that it had
// executed with [Do] are not executed again if they have the same fields: use [Due] for times, and
// [WithKey] for commands whose fields differ in each call.
func Every[W any](interval time.Duration, f func(*W, context.Context) error) WorkerOption[W] {
	return func(w *Worker) {
		w.periodic = append(w.periodic, periodicMethod{interval, func(w any, ctx context.Context) error { return f(w.(*W), ctx) }})
	}
}

// FromStart makes a new worker start with the first event of the log.
func FromStart[W any]() WorkerOption[W] { return func(w *Worker) { w.fromStart = true } }

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
// saves a tick, the tick is repeated with the same number, so its commands are not executed again. A
// number, unlike a time, does not change with the clock or with the interval of another build.
func (r *runner) tickOnce(ctx context.Context, i int) error {
	if err := r.renew(ctx); err != nil {
		return err
	}
	due := r.LastTick[i].Add(r.worker.periodic[i].interval)
	if now := storable(r.app.o.Now()); due.After(now) { // WorkOnce does not wait
		due = now
	}
	in := scope{app: r.app, actor: r.actor(), call: &workerCall{due: due, cause: Cause{Worker: r.name}, prefix: r.keyPrefix(fmt.Sprintf("every/%d/%d", i, r.TickNumber[i]+1)), byData: true}}
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

// WorkOnce makes all workers call their periodic methods once, due or not, and handle all events. It is
// for tests: it returns the first error instead of retrying, and no other process may run the workers.
func (a *App) WorkOnce(ctx context.Context) error {
	var runners []*runner
	for _, f := range a.features {
		for _, w := range f.Workers {
			r := &runner{app: a, worker: w, name: f.Name + "/" + w.name}
			if ok, err := r.start(ctx); !ok {
				return fmt.Errorf("worker %s: %w", r.name, cmp.Or(err, errLost))
			}
			defer r.stop(ctx)
			runners = append(runners, r)
		}
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
	var records []Record
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

// retryRequested retries the events that [Retry] was called for.
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

// retry retries an event that was set aside. It removes the request first, so that an event that kills
// the process is not retried forever.
func (r *runner) retry(ctx context.Context, requestDoc string, seq int64) error {
	var before []byte
	aside := SetAside{Seq: seq, Time: storable(r.app.o.Now()), Error: processEnded}
	err := r.saveWith(ctx, func(tx Tx) (err error) {
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
		return errors.Join(ctx.Err(), r.saveWith(late, func(tx Tx) error {
			return errors.Join(tx.Put(requestDoc, []byte("true")), tx.Put(asideDocument(r.name, seq), before))
		}))
	}
	return r.saveWith(ctx, func(tx Tx) error {
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
