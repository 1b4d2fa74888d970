package tools

import (
	"context"
	"errors"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

// GetNextTaskInput is the input of get_next_task.
type GetNextTaskInput struct {
	Agent        string `json:"agent,omitempty" schema:"min=1,max=100"`             // Name of the agent, shown by list_tasks
	LeaseSeconds int    `json:"lease_seconds" schema:"min=1,max=86400,default=600"` // How long the agent may work on the task
}

// GetNextTaskOutput is the output of get_next_task.
type GetNextTaskOutput struct {
	Task *tasks.Task `json:"task"` // The task; null if the queue is empty
}

// GetNextTask takes the oldest queued task. Do it, and call report_task_done with its id and lease
// before the lease expires; otherwise the task returns to the queue. If task is null, retry later.
//
//petrock:hints additive closed-world
func GetNextTask(ctx context.Context, in GetNextTaskInput) (GetNextTaskOutput, error) {
	ctx, err := appmcp.WithKey(ctx)
	if err != nil {
		return GetNextTaskOutput{}, err
	}
	task, err := app.Do(ctx, tasks.Take{Agent: in.Agent, LeaseSeconds: in.LeaseSeconds})
	if errors.Is(err, app.ErrRefused) {
		return GetNextTaskOutput{}, nil // the queue is empty
	}
	if err != nil {
		return GetNextTaskOutput{}, err
	}
	return GetNextTaskOutput{Task: &task}, nil
}
