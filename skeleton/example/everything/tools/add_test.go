package tools_test

import (
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/tools"
)

func TestAdd(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	result := client.CallTool("add", map[string]any{"a": 2, "b": 3})
	if got := result.Text(); got != `{"sum":5}` || result.IsError {
		t.Errorf("add says %s", got)
	}
	if wrong := client.CallTool("add", map[string]any{"a": 2}); !wrong.IsError {
		t.Errorf("add without b says %s", wrong.Text())
	}
}
