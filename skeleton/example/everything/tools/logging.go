package tools

import (
	"context"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// What is logged goes where the server logs, and to the client if it asked for it.

// Logging works for a moment, and logs what it does.
//
//petrock:name test_tool_with_logging
//petrock:hints read-only closed-world
func Logging(ctx context.Context, _ struct{}) (string, error) {
	log := mcp.Logger(ctx)
	for i, step := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return "", err
			}
		}
		log.Info(step, "step", i+1)
	}
	return "Three messages were logged.", nil
}

// LoggingOnce logs one message. A client that did not ask for it is not sent it.
//
//petrock:name test_logging_tool
//petrock:hints read-only closed-world
func LoggingOnce(ctx context.Context, _ struct{}) (string, error) {
	mcp.Logger(ctx).Info("The logging tool was called")
	return "A message was logged.", nil
}
