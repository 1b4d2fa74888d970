package tools

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

// GetNextTaskInput is what get_next_task takes.
type GetNextTaskInput struct {
	Agent        string `json:"agent,omitempty" schema:"min=1,max=100"`             // Name of the agent that takes the task, for others to see
	LeaseSeconds int    `json:"lease_seconds" schema:"min=1,max=86400,default=600"` // How long the agent has for it
}

// GetNextTaskOutput is what get_next_task returns.
type GetNextTaskOutput struct {
	Task *tasks.Task `json:"task"` // The task; null if there is none to do
}

// GetNextTask takes the oldest task of the queue, which no other agent gets then. Do it, and call report_task_done with its id and
// lease before the lease runs out, or it goes back to the queue. If there is none, call again later.
//
//petrock:hints additive closed-world
func GetNextTask(ctx context.Context, in GetNextTaskInput) (GetNextTaskOutput, error) {
	ctx, err := appmcp.WithKey(ctx)
	if err != nil {
		return GetNextTaskOutput{}, err
	}
	task, err := app.Do(ctx, tasks.Take{Agent: in.Agent, LeaseSeconds: in.LeaseSeconds})
	if errors.Is(err, app.ErrRefused) {
		return GetNextTaskOutput{}, nil // no task waits
	}
	if err != nil {
		return GetNextTaskOutput{}, err
	}
	return GetNextTaskOutput{Task: &task}, nil
}
