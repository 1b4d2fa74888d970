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
	take(t, client, "ann") // of the lease id4
	take(t, client, "")    // and id5
	for _, step := range []mcptest.Example{
		{Name: "a wrong lease", Input: `{"id":"id1","lease":"id5","result":"done"}`, Error: "another agent was handed the task: go on with get_next_task"},
		{Name: "done", Input: `{"id":"id1","lease":"id4","result":"it is one"}`, Output: `{"id":"id1","seq":1,"title":"one","status":"done","attempts":1,"lease":"id4","agent":"ann","result":"it is one","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:05Z"}`},
		{Name: "done twice", Input: `{"id":"id1","lease":"id4","result":"it is one"}`, Error: "reported done already"},
		{Name: "failed", Input: `{"id":"id2","lease":"id5","result":"nobody knows how","failed":true}`, Output: `{"id":"id2","seq":2,"title":"two","status":"failed","attempts":1,"lease":"id5","result":"nobody knows how","created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:06Z"}`},
		{Name: "not handed out", Input: `{"id":"id3","lease":"id4","result":"done"}`, Error: "not been handed out yet; get_next_task"},
		{Name: "no such task", Input: `{"id":"id9","lease":"id4","result":"done"}`, Error: `no task "id9"; list_tasks`},
		{Name: "no lease", Input: `{"id":"id3","result":"done"}`, Error: "invalid arguments"},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, "report_task_done", step) })
	}
}

// Who is late may report until another agent has the task, whether the worker was there in between or not.
func TestReportLate(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	client.Given("create_task", `{"title":"three"}`)
	take(t, client, "ann") // of the lease id4
	take(t, client, "ann") // and id5
	take(t, client, "ann") // and id6
	client.Later(time.Hour)
	client.Given("report_task_done", `{"id":"id1","lease":"id4","result":"late"}`)
	client.Work(t.Context())
	client.Given("report_task_done", `{"id":"id2","lease":"id5","result":"later"}`)
	if task := take(t, client, "bob"); task.Title != "three" || task.Attempts != 2 {
		t.Errorf("bob has %+v", task)
	}
	client.CheckTool(t, "report_task_done", mcptest.Example{Input: `{"id":"id3","lease":"id6","result":"too late"}`, Error: "another agent was handed the task"})
}
