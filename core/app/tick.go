package app

import (
	"context"
	"errors"
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

// tickOnce does what a worker does by the clock. An error is shown, and it is done again after another interval.
func (r *runner) tickOnce(ctx context.Context, i int) error {
	if err := r.hold(ctx); err != nil {
		return err
	}
	err := r.leased(ctx, func(ctx context.Context) error { return r.worker.periods[i].do(r.made, With(ctx, r.app)) })
	if ctx.Err() != nil || errors.Is(err, errLost) {
		return errors.Join(ctx.Err(), err)
	}
	r.Ticked[i] = storable(r.app.o.Now())
	if r.Trying == 0 {
		r.Error = ""
	}
	if err != nil {
		r.Error = err.Error()
		r.app.o.Logger.Warn("a worker has failed", "worker", r.name, "every", r.worker.periods[i].interval, "error", err)
	}
	return r.keep(ctx)
}
