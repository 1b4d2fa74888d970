package mcptest_test

import (
	"context"
	"testing"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

// The test of a tool: a server in memory, calls and their results.
func ExampleServe() {
	type input struct {
		Name string `json:"name" schema:"min=1"`
	}
	register := func(s *mcp.Server) error {
		return mcp.AddTool(s, mcp.Tool{Name: "greet", Description: "Greets someone."},
			func(ctx context.Context, in input) (string, error) { return "Hello, " + in.Name + "!", nil })
	}
	testGreet := func(t *testing.T) { // func TestGreet(t *testing.T) {
		client := mcptest.Serve(t, register)
		if got := client.CallTool("greet", input{"Ann"}).Text(); got != "Hello, Ann!" {
			t.Errorf("greet returns %q", got)
		}
		client.CheckTool(t, "greet", mcptest.Example{Input: `{"name":""}`, Error: "name: must have at least 1 character"})
	}
	_ = testGreet
}
