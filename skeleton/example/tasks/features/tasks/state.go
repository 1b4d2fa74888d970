// Package tasks is a task queue for agents. An agent takes the oldest queued task with a lease, and
// reports its result. If the lease expires first, the task returns to the queue.
package tasks

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// State is the state of the feature, rebuilt from the event log. Only commands change it.
type State struct {
	Tasks map[string]*Task `json:"tasks"` // By id
	Order []string         `json:"order"` // Ids of all tasks, oldest first
	Queue []string         `json:"queue"` // Ids of the queued tasks, oldest first
	Taken []string         `json:"taken"` // Ids of the taken tasks
}

// A Task is a task for an agent.
type Task struct {
	ID          string     `json:"id"`
	Seq         int64      `json:"seq"`                   // Number of the event that created it
	Title       string     `json:"title"`                 // What to do, in one line
	Description string     `json:"description,omitempty"` // Everything that the agent needs to know
	Status      TaskStatus `json:"status"`
	Attempts    int        `json:"attempts"`              // How often agents have taken it
	Lease       string     `json:"lease,omitempty"`       // Required by report_task_done; only the agent that took the task last has it
	LeaseUntil  *time.Time `json:"lease_until,omitempty"` // When the lease expires and the task returns to the queue
	Agent       string     `json:"agent,omitempty"`       // Name of the agent that took the task last, if it has one
	Result      string     `json:"result,omitempty"`      // The reported result
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

// A TaskStatus is the status of a task.
type TaskStatus string

// The statuses of a task.
const (
	TaskStatusQueued TaskStatus = "queued"
	TaskStatusTaken  TaskStatus = "taken"
	TaskStatusDone   TaskStatus = "done"
	TaskStatusFailed TaskStatus = "failed"
)

// NewState returns the state before the first command.
func NewState() *State {
	return &State{Tasks: map[string]*Task{}}
}

// checkTask returns an error if a task does not exist.
func (s *State) checkTask(id string) error {
	if s.Tasks[id] == nil {
		return fmt.Errorf("task %q does not exist; call list_tasks for the existing ones", id)
	}
	return nil
}

// indexAfter returns the index of the first task after seq. ids is sorted, oldest first.
func (s *State) indexAfter(ids []string, seq int64) int {
	return sort.Search(len(ids), func(i int) bool { return s.Tasks[ids[i]].Seq > seq })
}

// enqueue puts a task into the queue, which is sorted by age.
func (s *State) enqueue(task *Task) {
	task.Status, task.LeaseUntil = TaskStatusQueued, nil
	s.Queue = slices.Insert(s.Queue, s.indexAfter(s.Queue, task.Seq), task.ID)
}

// dequeue removes a task from the queue, or from the taken tasks.
func (s *State) dequeue(task *Task) {
	if task.Status == TaskStatusQueued {
		at := s.indexAfter(s.Queue, task.Seq)
		s.Queue = slices.Delete(s.Queue, at-1, at)
		return
	}
	s.Taken = slices.DeleteFunc(s.Taken, func(id string) bool { return id == task.ID })
}
