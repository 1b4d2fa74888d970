package tasks

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/app"
)

// Leases returns tasks with an expired lease to the queue, up to one interval after the lease
// expires. One process at a time runs the worker.
type Leases struct{}

// Every runs at the interval below. After an error, it runs again at the next interval.
//
//petrock:every 5s
func (w *Leases) Every(ctx context.Context) error {
	expired, err := app.Query(ctx, Expired{})
	if err != nil {
		return err
	}
	for _, task := range expired {
		_, err := app.Do(ctx, Return{ID: task.ID, Lease: task.Lease})
		if errors.Is(err, app.ErrRefused) {
			continue // an agent has just reported it
		}
		if err != nil {
			return err
		}
	}
	return nil
}
