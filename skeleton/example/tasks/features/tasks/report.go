package tasks

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// Report reports that a task is done, or that it failed. It requires the lease from get_next_task.
// A report after the lease has expired is accepted until another agent takes the task.
//
//petrock:name report_task_done
//petrock:hints additive
type Report struct {
	ID     string `json:"id"`                              // Id of the task
	Lease  string `json:"lease"`                           // Lease of the task, from get_next_task
	Result string `json:"result" schema:"min=1,max=20000"` // What was done and found, or why the task failed
	Failed bool   `json:"failed,omitempty"`                // True if the task could not be done
}

// Check refuses a report without the current lease of the task. An expired lease stays the current
// one until another agent takes the task.
func (c Report) Check(ctx context.Context, s *State) error {
	if err := s.checkTask(c.ID); err != nil {
		return err
	}
	switch task := s.Tasks[c.ID]; {
	case task.Status == TaskStatusDone || task.Status == TaskStatusFailed:
		return fmt.Errorf("task %q was already reported as %s; call get_next_task for another task", c.ID, task.Status)
	case task.Lease == "":
		return fmt.Errorf("task %q has no lease; call get_next_task to take a task", c.ID)
	case task.Lease != c.Lease:
		return fmt.Errorf("%q is not the current lease of task %q; if it was, it has expired and another agent has taken the task; call get_next_task for another task, with a longer lease", c.Lease, c.ID)
	}
	return nil
}

// Apply stores the result.
func (c Report) Apply(s *State, e app.Event) Task {
	task := s.Tasks[c.ID]
	s.dequeue(task) // an expired task is in the queue again
	task.Status = TaskStatusDone
	if c.Failed {
		task.Status = TaskStatusFailed
	}
	task.Result, task.LeaseUntil = c.Result, nil
	task.UpdatedAt = e.Time
	return *task
}
