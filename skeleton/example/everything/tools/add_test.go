package tools_test

import (
	"testing"

	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/skeleton/example/everything/tools"
)

func TestAdd(t *testing.T) {
	client := mcptest.Serve(t, tools.Register)
	for _, example := range []mcptest.Example{
		{Name: "two numbers", Input: tools.AddInput{A: 2, B: 3}, Output: tools.AddOutput{Sum: 5}},
		{Name: "one number", Input: `{"a":2}`, Error: "invalid arguments"},
	} {
		t.Run(example.Name, func(t *testing.T) { client.CheckTool(t, "add", example) })
	}
}
