package tools_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/tasks/features/tasks"
	"github.com/petrock/petrock/skeleton/example/tasks/tools"
)

func TestGetNextTask(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Register(tools.Register)
	client.CheckTool(t, "get_next_task", mcptest.Example{Name: "no task", Input: `{}`, Output: `{"task":null}`})
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	for _, step := range []mcptest.Example{
		{Name: "lease too short", Input: `{"lease_seconds":0}`, Error: "invalid arguments"},
		{Name: "lease too long", Input: `{"lease_seconds":86401}`, Error: "invalid arguments"},
		{Name: "the oldest", Input: `{}`, Output: `{"task":{"id":"id1","seq":1,"title":"one","status":"taken","attempts":1,"lease":"id3","lease_until":"2026-01-01T00:10:02Z","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:02Z"}}`},
		{Name: "the next", Input: `{"agent":"ann","lease_seconds":60}`, Output: `{"task":{"id":"id2","seq":2,"title":"two","status":"taken","attempts":1,"lease":"id4","lease_until":"2026-01-01T00:01:03Z","agent":"ann","created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:03Z"}}`},
		{Name: "no task is left", Input: `{}`, Output: `{"task":null}`},
	} {
		t.Run(step.Name, func(t *testing.T) { client.CheckTool(t, "get_next_task", step) })
	}
	if events, err := client.Store.Last(t.Context()); err != nil || events != 4 {
		t.Errorf("the log has %d events, %v; want 4 and no error: an empty queue must not add events", events, err)
	}
}

// A retry with the same idempotency key gets the same task.
func TestGetNextTaskRetry(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Register(tools.Register)
	client.Given("create_task", `{"title":"one"}`)
	client.Given("create_task", `{"title":"two"}`)
	var said []string
	for _, key := range []string{"a", "a", "b"} {
		var result mcp.ToolResult
		err := client.Call("tools/call", map[string]any{"name": "get_next_task", "_meta": map[string]any{"idempotencyKey": key}}, &result)
		if err != nil {
			t.Fatal(err)
		}
		said = append(said, result.Text())
	}
	if said[0] != said[1] || said[1] == said[2] {
		t.Errorf("the tasks are %s; want the first two equal, and the third different", said)
	}
}

// Concurrent agents, of both protocol eras, take each task exactly once.
func TestGetNextTaskConcurrent(t *testing.T) {
	client := apptest.Serve(t, tasks.Feature())
	client.Register(tools.Register)
	const many, agents = 100, 16
	for i := range many {
		client.Given("create_task", fmt.Sprintf(`{"title":"task %d"}`, i))
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	taken := map[string]bool{}
	for i := range agents {
		agent := client.Connect(mcptest.Options{Revision: []mcp.Revision{mcp.LatestHandshake, mcp.Latest}[i%2]})
		all.Go(func() {
			for {
				var result mcp.ToolResult
				if err := agent.Call("tools/call", map[string]any{"name": "get_next_task"}, &result); err != nil {
					t.Error(err)
					return
				}
				var got tools.GetNextTaskOutput
				if err := json.Unmarshal([]byte(result.Text()), &got); err != nil {
					t.Errorf("%s: %v", result.Text(), err)
					return
				}
				if got.Task == nil {
					return
				}
				mu.Lock()
				if taken[got.Task.ID] {
					t.Errorf("the task %s was taken twice, want once", got.Task.ID)
				}
				taken[got.Task.ID] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(taken) != many {
		t.Errorf("%d tasks were taken, want %d", len(taken), many)
	}
}
