package tools

import (
	"encoding/json"

	"github.com/petrock/petrock/core/mcp"
)

const (
	addInputSchema  = `{"type":"object","properties":{"a":{"type":"number","description":"First number"},"b":{"type":"number","description":"Second number"}},"required":["a","b"],"additionalProperties":false}`
	addOutputSchema = `{"type":"object","properties":{"sum":{"type":"number","description":"The two numbers together"}},"required":["sum"],"additionalProperties":false}`
)

// Register offers the tools of this package.
func Register(s *mcp.Server) error {
	return s.AddTool(mcp.Tool{
		Name:         "add",
		Description:  "Adds two numbers.",
		InputSchema:  json.RawMessage(addInputSchema),
		OutputSchema: json.RawMessage(addOutputSchema),
	}, mcp.Typed(Add))
}
