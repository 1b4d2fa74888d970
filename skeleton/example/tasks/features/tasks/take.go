package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/petrock/petrock/core/app"
)

// Take hands the oldest task of the queue to an agent, for some time. Commands are executed one after the other, in however many
// processes, so no two of them take the same task. It is no tool by itself: a command that is refused leaves nothing in the log, and
// the tool get_next_task says of one that there is no task, so that agents may ask again and again.
//
//petrock:internal
type Take struct {
	Agent        string `json:"agent,omitempty"` // Who takes it
	LeaseSeconds int    `json:"lease_seconds"`   // For how long
}

// Check refuses to take a task where there is none.
func (c Take) Check(ctx context.Context, s *State) error {
	if len(s.Queue) == 0 {
		return errors.New("no task waits; create_task adds one")
	}
	return nil
}

// Apply takes the task. The lease is known by the id of the event, which no other has, and runs
// from its time.
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
