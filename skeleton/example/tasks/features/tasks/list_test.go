package tasks_test

import (
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
)

func TestList(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.CheckTool(t, "list_tasks", mcptest.Example{Name: "no tasks", Input: `{}`, Output: `{"items":[]}`})
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	client.Given("create_task", `{"title":"three"}`)
	take(t, client, "ann")
	const (
		one   = `{"id":"id1","seq":1,"title":"one","status":"taken","attempts":1,"lease_until":"2026-01-01T00:10:03Z","agent":"ann","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:03Z"}` // without the lease
		two   = `{"id":"id2","seq":2,"title":"two","status":"queued","attempts":0,"created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:01Z"}`
		three = `{"id":"id3","seq":3,"title":"three","status":"queued","attempts":0,"created_at":"2026-01-01T00:00:02Z","updated_at":"2026-01-01T00:00:02Z"}`
	)
	for _, step := range []mcptest.Example{
		{Name: "all", Input: `{}`, Output: `{"items":[` + one + `,` + two + `,` + three + `]}`},
		{Name: "queued", Input: `{"status":"queued"}`, Output: `{"items":[` + two + `,` + three + `]}`},
		{Name: "done", Input: `{"status":"done"}`, Output: `{"items":[]}`},
		{Name: "the first page", Input: `{"status":"queued","limit":1}`, Output: `{"items":[` + two + `],"next":2}`},
		{Name: "the last page", Input: `{"status":"queued","limit":1,"after":2}`, Output: `{"items":[` + three + `]}`},
		{Name: "unknown status", Input: `{"status":"lost"}`, Error: "invalid arguments"},
		{Name: "limit too high", Input: `{"limit":101}`, Error: "invalid arguments"},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, "list_tasks", step) })
	}
	got, err := app.Query(app.With(t.Context(), client.App), tasks.List{})
	if err != nil || len(got.Items) != 3 {
		t.Errorf("app.Query(ctx, tasks.List{}) = %+v, %v, want all three tasks", got, err)
	}
}
