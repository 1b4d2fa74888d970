package tasks

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// Return puts a task back into the queue. The worker Leases executes it.
//
//petrock:internal
type Return struct {
	ID    string `json:"id"`    // Id of the task
	Lease string `json:"lease"` // The one that has run out
}

// Check refuses a task that was reported meanwhile, or handed out again.
func (c Return) Check(ctx context.Context, s *State) error {
	if err := s.known(c.ID); err != nil {
		return err
	}
	if task := s.Tasks[c.ID]; task.Status != TaskStatusTaken || task.Lease != c.Lease {
		return fmt.Errorf("nobody has task %q by the lease %q any more", c.ID, c.Lease)
	}
	return nil
}

// Apply puts it back where it was. Its lease stays, so that a late report is taken until another agent has the task.
func (c Return) Apply(s *State, e app.Event) Task {
	task := s.Tasks[c.ID]
	s.dequeue(task)
	s.enqueue(task)
	task.UpdatedAt = e.Time
	return *task
}
