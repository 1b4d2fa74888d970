package tasks

import (
	"context"

	"github.com/petrock/petrock/core/app"
)

// Create puts a task into the queue, for the next agent that asks for one.
//
//petrock:name create_task
//petrock:hints additive
type Create struct {
	Title       string `json:"title" schema:"min=1,max=200"`                   // What is to be done, in a line
	Description string `json:"description,omitempty" schema:"min=1,max=20000"` // All that an agent has to know which has nothing else to go by
}

// Check refuses nothing: what the fields may hold is checked by their tags.
func (c Create) Check(ctx context.Context, s *State) error {
	return nil
}

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
