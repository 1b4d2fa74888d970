package app

import (
	"context"
	"errors"
	"fmt"
)

// WorkOnce has all workers do what there is to do now, and what they do by the clock once, whether it is time or not. It is for
// tests: what fails is not tried again but returned, and no other process may run the workers.
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

// once goes through all entries that there are. The first error ends it.
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
			return fmt.Errorf("entry %d: %w", record.Seq, err)
		}
		r.Position = record.Seq
	}
	return r.keep(ctx)
}
