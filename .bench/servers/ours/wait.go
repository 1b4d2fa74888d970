package main

import (
	"context"
	"encoding/json"

	"github.com/petrock/petrock/bench/internal/work"
	"github.com/petrock/petrock/core/mcp"
)

const waitSchema = `{"type":"object","properties":{"ms":{"type":"integer"}},"required":["ms"],"additionalProperties":false}`

// registerWaits offers the tools that take their time.
func registerWaits(s *mcp.Server) error {
	err := mcp.AddTool(s, mcp.Tool{
		Name:         "slow",
		Description:  "Waits.",
		InputSchema:  json.RawMessage(waitSchema),
		OutputSchema: json.RawMessage(waitSchema),
	}, work.Slow)
	if err != nil {
		return err
	}
	return mcp.AddTool(s, mcp.Tool{
		Name:         "busy",
		Description:  "Computes.",
		InputSchema:  json.RawMessage(waitSchema),
		OutputSchema: json.RawMessage(waitSchema),
	}, func(_ context.Context, in work.WaitInput) (work.WaitOutput, error) {
		return work.Busy(in), nil
	})
}
