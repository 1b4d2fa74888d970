package tasks_test

import (
	"testing"

	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

func TestCreate(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	for _, step := range []mcptest.Example{
		{Name: "title", Input: `{"title":"one"}`, Output: `{"id":"id1","seq":1,"title":"one","status":"queued","attempts":0,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z"}`},
		{Name: "description", Input: `{"title":"two","description":"twice"}`, Output: `{"id":"id2","seq":2,"title":"two","description":"twice","status":"queued","attempts":0,"created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:01Z"}`},
		{Name: "empty title", Input: `{"title":""}`, Error: "invalid arguments"},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, "create_task", step) })
	}
}
