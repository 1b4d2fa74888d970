package app

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A Worker follows the log.
type Worker struct {
	name    string
	begin   func(context.Context) (any, error)
	fields  savedFields
	on      map[reflect.Type]func(w any, ctx context.Context, c any, e Entry) error
	periods []period
	start   bool // a new one begins with the first entry
}

// A period is what a worker does by the clock.
type period struct {
	interval time.Duration
	do       func(w any, ctx context.Context) error
}

// A Duty is a part of what a worker of type W does.
type Duty[W any] func(*Worker)

// savedFields read the exported fields of a worker, exactly: no field is unknown, and none is missing.
type savedFields struct {
	kind   reflect.Type
	decode func(state []byte, made any) error // made points to a worker
}

// WorkerOf is a worker, which is made when its work begins. It is known by its name: one that is
// new begins with what comes after the program that has it was first opened, see [FromStart]. Its
// exported fields are saved as JSON with its position in the log, and restored after a restart.
// Saved fields that do not fit W stop the start: a field that W gains has to be optional, that is a
// pointer, omitempty or omitzero. See [ResetWorker].
func WorkerOf[W any](name string, begin func(context.Context) (*W, error), duties ...Duty[W]) Worker {
	w := Worker{
		name:  name,
		begin: func(ctx context.Context) (any, error) { return begin(ctx) },
		on:    map[reflect.Type]func(any, context.Context, any, Entry) error{},
	}
	decoder := sync.OnceValue(strictjson.NewExactDecoder[W])
	w.fields = savedFields{reflect.TypeFor[W](), func(state []byte, made any) error { return decoder().Decode(state, made.(*W)) }}
	for _, duty := range duties {
		duty(&w)
	}
	return w
}

// On has a worker called with each command of a type, of any feature, in the order of the log, at least once. If
// it fails it is called again, later each time, until the entry is set aside. However often it is called for an entry, the
// first command of a type that it executes with [Do] is executed once, and so are the second and those after it: who
// wants another one executed the next time gives that a key, see [WithKey].
func On[W, C any](f func(*W, context.Context, C, Entry) error) Duty[W] {
	return func(w *Worker) {
		w.on[reflect.TypeFor[C]()] = func(made any, ctx context.Context, c any, e Entry) error {
			return f(made.(*W), ctx, c.(C), e)
		}
	}
}

// Every has a worker called by the clock, one interval after another, across restarts too.
// Intervals that pass while no process runs are made up for by one call. If the process dies during
// a call or right after it, the call is repeated. A command that it had executed with [Do] is not
// executed again then, provided it has the same fields: take times from [Due], and give a command with other fields that
// differ each time a key, see [WithKey].
func Every[W any](interval time.Duration, f func(*W, context.Context) error) Duty[W] {
	return func(w *Worker) {
		w.periods = append(w.periods, period{interval, func(made any, ctx context.Context) error { return f(made.(*W), ctx) }})
	}
}

// FromStart has a worker that is new begin with the first entry of the log.
func FromStart[W any]() Duty[W] { return func(w *Worker) { w.start = true } }
