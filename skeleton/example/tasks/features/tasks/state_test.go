package tasks_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

// take takes the next task, as get_next_task does.
func take(t *testing.T, client *apptest.Client, agent string) tasks.Task {
	t.Helper()
	task, err := app.Do(app.With(t.Context(), client.App), tasks.Take{Agent: agent, LeaseSeconds: 600})
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// When the test ends, apptest replays the log from the start and from a snapshot, and compares the
// states.
func TestReplay(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two","description":"twice"}`)
	client.Given("create_task", `{"title":"three"}`)
	task := take(t, client, "ann")
	take(t, client, "bob")
	client.Given("report_task_done", `{"id":"id1","lease":"`+task.Lease+`","result":"it is one"}`)
	client.Advance(time.Hour)
	client.Work(t.Context(), "tasks/leases")
}
