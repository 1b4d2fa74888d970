package tasks

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Expired lists the tasks whose lease has run out.
//
//petrock:internal
type Expired struct{}

// Answer finds them, by the clock: a query may look at it, as nothing is kept of what it says.
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
