package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/app/eventlog"
)

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
