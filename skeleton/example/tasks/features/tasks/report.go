package tasks

import (
	"context"
	"fmt"

	"github.com/petrock/petrock/core/app"
)

// Report says that a task is done, or that it cannot be done. It takes the lease that get_next_task gave with the task. A
// report may be late, as long as the task was not handed to another agent.
//
//petrock:name report_task_done
//petrock:hints additive
type Report struct {
	ID     string `json:"id"`                              // Id of the task
	Lease  string `json:"lease"`                           // The lease of the task, as get_next_task gave it
	Result string `json:"result" schema:"min=1,max=20000"` // What came of it: what was done and found, or why it cannot be done
	Failed bool   `json:"failed,omitempty"`                // Whether the task could not be done
}

// Check refuses who does not have the task. It goes by the lease and not by the clock: whose lease has run out may report
// until another has the task.
func (c Report) Check(ctx context.Context, s *State) error {
	if err := s.known(c.ID); err != nil {
		return err
	}
	switch task := s.Tasks[c.ID]; {
	case task.Status == TaskStatusDone || task.Status == TaskStatusFailed:
		return fmt.Errorf("task %q was reported %s already; go on with get_next_task", c.ID, task.Status)
	case task.Lease == "":
		return fmt.Errorf("task %q has not been handed out yet; get_next_task hands out the oldest one, with its lease", c.ID)
	case task.Lease != c.Lease:
		return fmt.Errorf("%q is not the lease that task %q was handed out with last; if it was one before, it has run out, and another agent was handed the task: go on with get_next_task, and ask for a longer lease", c.Lease, c.ID)
	}
	return nil
}

// Apply ends the task.
func (c Report) Apply(s *State, e app.Event) Task {
	task := s.Tasks[c.ID]
	s.dequeue(task) // it is in the queue if the lease has run out
	task.Status = TaskStatusDone
	if c.Failed {
		task.Status = TaskStatusFailed
	}
	task.Result, task.LeaseUntil = c.Result, nil
	task.UpdatedAt = e.Time
	return *task
}
