package tools

import (
	"context"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// Messages go to the server's log, and to clients that asked for them.

// Logging logs three messages.
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

// LoggingOnce logs one message.
//
//petrock:name test_logging_tool
//petrock:hints read-only closed-world
func LoggingOnce(ctx context.Context, _ struct{}) (string, error) {
	mcp.Logger(ctx).Info("The logging tool was called")
	return "A message was logged.", nil
}
