package app

import (
	"context"
	"reflect"
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

// savedFields decodes the exported fields of a worker strictly: unknown and missing fields are
// errors.
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
// executed once, however often f is retried. To execute a different command in a retry, give it a
// key with [WithKey].
func On[W, C any](f func(*W, context.Context, C, Event) error) WorkerOption[W] {
	return func(w *Worker) {
		w.on[reflect.TypeFor[C]()] = func(w any, ctx context.Context, c any, e Event) error {
			return f(w.(*W), ctx, c.(C), e)
		}
	}
}

// Every makes a worker call f at an interval. The interval continues across restarts. Intervals
// that pass while no process runs result in one call.
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
