package tools_test

import (
	"errors"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/resources"
	"github.com/petrock/petrock/skeleton/example/everything/tools"
)

// Clients are notified of added and removed components.
func TestChanges(t *testing.T) {
	server := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{Prompts: true})
	made, err := tools.New(server)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(made.Register(server), resources.Register(server)); err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, server)
	for _, want := range []int{1, 0, 1} {
		before := len(client.Tools())
		client.CallTool("test_trigger_tool_change", nil)
		client.Next("notifications/tools/list_changed")
		if after := len(client.Tools()); (after > before) != (want == 1) {
			t.Errorf("there were %d tools, and are %d; want more: %t", before, after, want == 1)
		}
		client.CallTool("test_trigger_prompt_change", nil)
		client.Next("notifications/prompts/list_changed")
		if got := len(client.Prompts()); got != want {
			t.Errorf("there are %d prompts, want %d", got, want)
		}
	}
	if err := client.Call("resources/subscribe", map[string]any{"uri": "test://watched-resource"}, nil); err != nil {
		t.Fatal(err)
	}
	client.CallTool("test_trigger_resource_change", nil)
	client.Next("notifications/resources/updated")
}
