package tasks

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Expired returns the tasks whose lease has expired.
//
//petrock:internal
type Expired struct{}

// Answer returns the expired tasks. Unlike Apply, a query may use the clock.
func (q Expired) Answer(ctx context.Context, s *State) ([]Task, error) {
	now := app.Now(ctx)
	var expired []Task
	for _, id := range s.Taken {
		if task := s.Tasks[id]; !now.Before(*task.LeaseUntil) {
			expired = append(expired, *task)
		}
	}
	return expired, nil
}
