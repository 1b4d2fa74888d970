package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/petrock/petrock/core/app"
)

// Take leases the oldest queued task to an agent. Commands run one after another, even across
// processes, so two agents never take the same task. The tool get_next_task executes it.
//
//petrock:internal
type Take struct {
	Agent        string `json:"agent,omitempty"` // Name of the agent
	LeaseSeconds int    `json:"lease_seconds"`   // How long the lease lasts
}

// Check refuses if the queue is empty.
func (c Take) Check(ctx context.Context, s *State) error {
	if len(s.Queue) == 0 {
		return errors.New("the queue is empty; add a task with create_task")
	}
	return nil
}

// Apply takes the task. The lease is the id of the event, which is unique.
func (c Take) Apply(s *State, e app.Event) Task {
	task := s.Tasks[s.Queue[0]]
	s.dequeue(task)
	s.Taken = append(s.Taken, task.ID)
	until := e.Time.Add(time.Duration(c.LeaseSeconds) * time.Second)
	task.Status, task.LeaseUntil = TaskStatusTaken, &until
	task.Lease, task.Agent = e.ID, c.Agent
	task.Attempts++
	task.UpdatedAt = e.Time
	return *task
}
