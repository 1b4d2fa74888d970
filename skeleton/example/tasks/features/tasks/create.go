package tasks

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Create adds a task to the queue. An agent gets it with get_next_task.
//
//petrock:name create_task
//petrock:hints additive
type Create struct {
	Title       string `json:"title" schema:"min=1,max=200"`                   // What to do, in one line
	Description string `json:"description,omitempty" schema:"min=1,max=20000"` // Everything that the agent needs to know; it sees only the task
}

// Check accepts every task. The schema tags limit the fields.
func (c Create) Check(ctx context.Context, s *State) error { return nil }

// Apply adds the task.
func (c Create) Apply(s *State, e app.Event) Task {
	task := &Task{
		ID:          e.ID,
		Seq:         e.Seq,
		Title:       c.Title,
		Description: c.Description,
		CreatedAt:   e.Time,
		UpdatedAt:   e.Time,
	}
	s.Tasks[task.ID] = task
	s.Order = append(s.Order, task.ID)
	s.enqueue(task)
	return *task
}
