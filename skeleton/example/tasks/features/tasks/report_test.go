package tasks_test

import (
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

func TestReport(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	client.Given("create_task", `{"title":"three"}`)
	take(t, client, "ann") // with lease id4
	take(t, client, "")    // with lease id5
	for _, step := range []mcptest.Example{
		{Name: "wrong lease", Input: `{"id":"id1","lease":"id5","result":"done"}`, Error: "another agent has taken the task; call get_next_task"},
		{Name: "done", Input: `{"id":"id1","lease":"id4","result":"it is one"}`, Output: `{"id":"id1","seq":1,"title":"one","status":"done","attempts":1,"lease":"id4","agent":"ann","result":"it is one","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:05Z"}`},
		{Name: "done twice", Input: `{"id":"id1","lease":"id4","result":"it is one"}`, Error: "already reported as done"},
		{Name: "failed", Input: `{"id":"id2","lease":"id5","result":"not possible","failed":true}`, Output: `{"id":"id2","seq":2,"title":"two","status":"failed","attempts":1,"lease":"id5","result":"not possible","created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:06Z"}`},
		{Name: "not taken", Input: `{"id":"id3","lease":"id4","result":"done"}`, Error: "has no lease; call get_next_task"},
		{Name: "unknown task", Input: `{"id":"id9","lease":"id4","result":"done"}`, Error: `task "id9" does not exist; call list_tasks`},
		{Name: "no lease", Input: `{"id":"id3","result":"done"}`, Error: "invalid arguments"},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, "report_task_done", step) })
	}
}

// An agent may report late until another agent takes the task, before and after the worker has run.
func TestReportLate(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	client.Given("create_task", `{"title":"three"}`)
	take(t, client, "ann") // with lease id4
	take(t, client, "ann") // with lease id5
	take(t, client, "ann") // with lease id6
	client.Advance(time.Hour)
	client.Given("report_task_done", `{"id":"id1","lease":"id4","result":"late"}`)
	client.Work(t.Context(), "tasks/leases")
	client.Given("report_task_done", `{"id":"id2","lease":"id5","result":"later"}`)
	if task := take(t, client, "bob"); task.Title != "three" || task.Attempts != 2 {
		t.Errorf(`bob has %+v; want Title "three" and Attempts 2`, task)
	}
	client.CheckTool(t, "report_task_done", mcptest.Example{Input: `{"id":"id3","lease":"id6","result":"too late"}`, Error: "another agent has taken the task"})
}
