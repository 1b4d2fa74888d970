package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Worker follows the log, and runs by the clock.
type Worker struct {
	name    string
	begin   func(context.Context) (any, error)
	fields  savedFields
	on      map[reflect.Type]func(w any, ctx context.Context, c any, e Event) error
	periods []period
	start   bool // a new worker starts with the first event
}

// A period is a method of a worker that runs by the clock.
type period struct {
	interval time.Duration
	do       func(w any, ctx context.Context) error
}

// A Duty configures a worker of type W.
type Duty[W any] func(*Worker)

// savedFields reads the exported fields of a worker exactly: unknown and missing fields are errors.
type savedFields struct {
	kind   reflect.Type
	decode func(state []byte, made any) error // made points to a worker
}

// WorkerOf returns a worker. begin creates it when it starts. Its name identifies it: a new worker
// starts after the last event that exists when a program with it first runs, see [FromStart]. Its
// exported fields are saved as JSON with its position in the log, and restored after a restart.
// Saved fields that do not fit W stop the server at startup: a new field of W must be optional,
// that is a pointer, omitempty or omitzero. See [ResetWorker].
func WorkerOf[W any](name string, begin func(context.Context) (*W, error), duties ...Duty[W]) Worker {
	w := Worker{
		name:  name,
		begin: func(ctx context.Context) (any, error) { return begin(ctx) },
		on:    map[reflect.Type]func(any, context.Context, any, Event) error{},
	}
	decoder := strictjson.NewExactDecoder(reflect.TypeFor[W]())
	w.fields = savedFields{reflect.TypeFor[W](), func(state []byte, made any) error { return decoder.Decode(state, made.(*W)) }}
	for _, duty := range duties {
		duty(&w)
	}
	return w
}

// On makes a worker receive each command of a type, of any feature, in the order of the log, at
// least once. If f fails, it is called again after a growing delay, until the event is set aside.
// However often f is called for an event, the first command of a type that it executes with [Do] is
// executed once, and so is the second, and so on. To execute another command in the next call, give
// it a key with [WithKey].
func On[W, C any](f func(*W, context.Context, C, Event) error) Duty[W] {
	return func(w *Worker) {
		w.on[reflect.TypeFor[C]()] = func(made any, ctx context.Context, c any, e Event) error {
			return f(made.(*W), ctx, c.(C), e)
		}
	}
}

// Every makes a worker run by the clock, one interval after another, across restarts too. After
// intervals in which no process ran there is one call. If the process dies during a call or right
// after it, the call is repeated. Commands that it had executed with [Do] are not executed again,
// provided they have the same fields: use [Due] for times, and give a command whose fields differ
// each time a key with [WithKey].
func Every[W any](interval time.Duration, f func(*W, context.Context) error) Duty[W] {
	return func(w *Worker) {
		w.periods = append(w.periods, period{interval, func(made any, ctx context.Context) error { return f(made.(*W), ctx) }})
	}
}

// FromStart makes a new worker start with the first event of the log.
func FromStart[W any]() Duty[W] { return func(w *Worker) { w.start = true } }

// tick runs the periods that are due.
func (r *runner) tick(ctx context.Context) error {
	for i, p := range r.worker.periods {
		now := r.app.o.Now()
		if r.Ticked[i].After(now) {
			r.Ticked[i] = storable(now) // the clock was set back
		}
		if now.Before(r.Ticked[i].Add(p.interval)) {
			continue
		}
		if err := r.tickOnce(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// tickOnce runs a period once. An error is saved and logged, and the next tick follows after
// another interval.
//
// Ticks are numbered, and the number is saved with the tick. If the process dies before that, the
// tick is repeated with the same number, so that commands which it has executed are not executed
// again. The number does not depend on the clock, which may be set back, nor on the interval, which
// another build may change.
func (r *runner) tickOnce(ctx context.Context, i int) error {
	if err := r.hold(ctx); err != nil {
		return err
	}
	due := r.Ticked[i].Add(r.worker.periods[i].interval)
	if now := storable(r.app.o.Now()); due.After(now) { // WorkOnce does not wait
		due = now
	}
	in := scope{app: r.app, work: &work{due: due, prefix: r.keyPrefix(fmt.Sprintf("every/%d/%d", i, r.Ticks[i]+1)), byData: true}}
	err := r.leased(ctx, func(ctx context.Context) error { return r.worker.periods[i].do(r.made, in.with(ctx)) })
	if ctx.Err() != nil || errors.Is(err, errLost) {
		return errors.Join(ctx.Err(), err)
	}
	r.Ticked[i] = storable(r.app.o.Now())
	r.Ticks[i]++
	if r.Trying == 0 {
		r.Error = ""
	}
	if err != nil {
		r.Error = err.Error()
		r.app.o.Logger.Warn("worker failed", "worker", r.name, "every", r.worker.periods[i].interval, "error", err)
	}
	return r.keep(ctx)
}

// WorkOnce makes all workers handle the events that exist now, and run their periods once, due or
// not. It is for tests: it returns the first error instead of retrying, and no other process may
// run the workers.
func (a *App) WorkOnce(ctx context.Context) error {
	var runners []*runner
	for _, f := range a.features {
		for _, w := range f.Workers {
			r := &runner{app: a, worker: w, name: f.Name + "/" + w.name}
			if ok, err := r.start(ctx); !ok {
				return fmt.Errorf("worker %s: %w", r.name, errors.Join(err, errLost))
			}
			defer r.stop(ctx)
			runners = append(runners, r)
		}
	}
	for _, r := range runners {
		for i := range r.worker.periods {
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
			if err := r.once(ctx); err != nil {
				return fmt.Errorf("worker %s: %w", r.name, err)
			}
			moved = moved || r.Position > before
		}
	}
	return nil
}

// once handles all events that exist. It stops at the first error.
func (r *runner) once(ctx context.Context) error {
	var records []Record
	for record, err := range r.app.store.Records(ctx, r.Position) {
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	for _, record := range records {
		c, do, err := r.concerned(ctx, record)
		if err == nil && do != nil {
			err = r.try(ctx, record, c, do)
		}
		if err != nil {
			return fmt.Errorf("event %d: %w", record.Seq, err)
		}
		r.Position = record.Seq
	}
	return r.keep(ctx)
}

// again retries the events that Retry was called for.
func (r *runner) again(ctx context.Context) error {
	prefix := strings.TrimSuffix(retryName(r.name, 0), fmt.Sprintf("%019d", 0))
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

// retry tries an event once more. It removes the request first, so that an event that kills the
// process does so once.
func (r *runner) retry(ctx context.Context, asked string, seq int64) error {
	var before []byte
	aside := SetAside{Seq: seq, Time: storable(r.app.o.Now()), Error: ended}
	err := r.keepWith(ctx, func(tx Tx) (err error) {
		if before, err = tx.Get(asideName(r.name, seq)); err != nil {
			return err
		}
		var was SetAside
		_ = json.Unmarshal(before, &was) // only its tries are used
		aside.Tries = was.Tries + 1
		return errors.Join(tx.Put(asked, nil), aside.put(tx, r.name))
	})
	if err != nil {
		return err
	}
	failed := r.tryOld(ctx, seq)
	if ctx.Err() != nil { // it was interrupted
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), renew)
		defer cancel()
		return errors.Join(ctx.Err(), r.keepWith(late, func(tx Tx) error {
			return errors.Join(tx.Put(asked, []byte("true")), tx.Put(asideName(r.name, seq), before))
		}))
	}
	return r.keepWith(ctx, func(tx Tx) error {
		if failed == nil {
			return tx.Put(asideName(r.name, seq), nil)
		}
		aside.Error = failed.Error()
		return aside.put(tx, r.name)
	})
}

// tryOld tries an event that was set aside.
func (r *runner) tryOld(ctx context.Context, seq int64) error {
	for record, err := range r.app.store.Records(ctx, seq-1) {
		if err != nil {
			return err
		}
		c, do, err := r.concerned(ctx, record)
		if err != nil || do == nil {
			return err
		}
		return r.try(ctx, record, c, do)
	}
	return fmt.Errorf("the log has no event %d", seq)
}
