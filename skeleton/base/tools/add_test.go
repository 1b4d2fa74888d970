package tools_test

import (
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/base/tools"
)

func TestAdd(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	result := client.CallTool("add", map[string]any{"a": 2, "b": 3})
	if got, want := result.Text(), `{"sum":5}`; got != want || result.IsError {
		t.Errorf("add(2, 3) = %s, want %s", got, want)
	}
	if wrong := client.CallTool("add", map[string]any{"a": 2}); !wrong.IsError {
		t.Errorf("add(2) = %s, want an error: b is missing", wrong.Text())
	}
}
