package tasks

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// Return puts an expired task back into the queue. The worker Leases executes it.
//
//petrock:internal
type Return struct {
	ID    string `json:"id"`    // Id of the task
	Lease string `json:"lease"` // The expired lease
}

// Check refuses a task that was reported or taken again in the meantime.
func (c Return) Check(ctx context.Context, s *State) error {
	if err := s.checkTask(c.ID); err != nil {
		return err
	}
	if task := s.Tasks[c.ID]; task.Status != TaskStatusTaken || task.Lease != c.Lease {
		return fmt.Errorf("task %q is no longer taken with lease %q", c.ID, c.Lease)
	}
	return nil
}

// Apply puts the task back into the queue. The lease stays, so that a late report is accepted.
func (c Return) Apply(s *State, e app.Event) Task {
	task := s.Tasks[c.ID]
	s.dequeue(task)
	s.enqueue(task)
	task.UpdatedAt = e.Time
	return *task
}
