// Package tasks is a queue of tasks for agents. A task waits in the queue until an agent takes it for some time, by a lease; the agent
// reports what came of it, or the task goes back to the queue when the lease has run out. The oldest is handed out first.
package tasks

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// State is what the log says of tasks. Commands change it, and nothing else does.
type State struct {
	Tasks map[string]*Task `json:"tasks"` // By id
	Order []string         `json:"order"` // Their ids, in the order in which they were created
	Queue []string         `json:"queue"` // The ids of those that wait, in that order too
	Taken []string         `json:"taken"` // The ids of those that an agent has
}

// A Task is something to be done. Whoever takes it has a lease, and with that may report what came of it.
type Task struct {
	ID          string     `json:"id"`
	Seq         int64      `json:"seq"`                   // Place in the order of creation
	Title       string     `json:"title"`                 // What is to be done, in a line
	Description string     `json:"description,omitempty"` // All that there is to know about it
	Status      TaskStatus `json:"status"`
	Attempts    int        `json:"attempts"`              // How often it was handed out
	Lease       string     `json:"lease,omitempty"`       // What report_task_done has to be given, by the agent that was handed the task last
	LeaseUntil  *time.Time `json:"lease_until,omitempty"` // When the task goes back to the queue, unless it is reported before
	Agent       string     `json:"agent,omitempty"`       // Who has it, or had it last, if they gave a name
	Result      string     `json:"result,omitempty"`      // What came of it
	CreatedAt   time.Time  `json:"created_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
}

// TaskStatus is one of the values of status.
type TaskStatus string

// The values of status.
const (
	TaskStatusQueued TaskStatus = "queued"
	TaskStatusTaken  TaskStatus = "taken"
	TaskStatusDone   TaskStatus = "done"
	TaskStatusFailed TaskStatus = "failed"
)

// NewState is the state before the first command.
func NewState() *State {
	return &State{Tasks: map[string]*Task{}}
}

// known refuses an id that no task has.
func (s *State) known(id string) error {
	if s.Tasks[id] == nil {
		return fmt.Errorf("there is no task %q; list_tasks has those that there are", id)
	}
	return nil
}

// after is the place in a list of ids, of which the oldest is the first, behind those whose number is at most seq.
func (s *State) after(ids []string, seq int64) int {
	return sort.Search(len(ids), func(i int) bool {
		return s.Tasks[ids[i]].Seq > seq
	})
}

// enqueue puts a task into the queue, behind those that are older and before those that are newer.
func (s *State) enqueue(task *Task) {
	task.Status, task.LeaseUntil = TaskStatusQueued, nil
	s.Queue = slices.Insert(s.Queue, s.after(s.Queue, task.Seq), task.ID)
}

// dequeue takes a task out of the queue, or from the agent that has it.
func (s *State) dequeue(task *Task) {
	if task.Status == TaskStatusQueued {
		at := s.after(s.Queue, task.Seq)
		s.Queue = slices.Delete(s.Queue, at-1, at)
		return
	}
	s.Taken = slices.DeleteFunc(s.Taken, func(id string) bool { return id == task.ID })
}
