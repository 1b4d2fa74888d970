package app

import (
	"context"
	"errors"
	"fmt"
)

// tick does what is due by the clock.
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

// tickOnce does what a worker does by the clock. An error is shown, and the next tick follows after
// another interval.
//
// Ticks are numbered, and the number is saved together with the tick. If the process dies before
// that, the tick is repeated under the same number, so that commands which it has executed already
// are not executed again. The clock has no part in it: it may be set back, and the interval may be
// another one in the next build.
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
		r.app.o.Logger.Warn("a worker has failed", "worker", r.name, "every", r.worker.periods[i].interval, "error", err)
	}
	return r.keep(ctx)
}
