package tasks

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/app"
)

// Leases returns tasks to the queue when their lease has run out: their agents have died, or forgotten them. It is the only way
// back, so a task waits up to an interval longer than its lease, and the log says of each when it was returned. Of all
// processes on the same data one has the worker.
type Leases struct{}

// Every is called by the clock. After an error it is called again, later.
//
//petrock:every 5s
func (w *Leases) Every(ctx context.Context) error {
	expired, err := app.Ask(ctx, Expired{})
	if err != nil {
		return err
	}
	for _, task := range expired {
		_, err := app.Do(ctx, Return{ID: task.ID, Lease: task.Lease})
		if errors.Is(err, app.ErrRefused) {
			continue // it was reported just now
		}
		if err != nil {
			return err
		}
	}
	return nil
}
