package tools

import (
	"context"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// Slow tools: they report progress, stop when the call is cancelled, and let the client disconnect
// and reconnect.

// Progress reports progress while it works.
//
//petrock:name test_tool_with_progress
//petrock:hints read-only closed-world
func Progress(ctx context.Context, _ struct{}) (string, error) {
	for done := 0.0; ; done += 50 {
		mcp.Progress(ctx, done, 100, "")
		if done == 100 {
			return "The work is done.", nil
		}
		if err := wait(ctx, 50*time.Millisecond); err != nil {
			return "", err
		}
	}
}

// Reconnection lets the client disconnect and reconnect while it works, in revisions that support
// it.
//
//petrock:name test_reconnection
//petrock:hints read-only closed-world
func Reconnection(ctx context.Context, _ struct{}) (string, error) {
	mcp.Suspend(ctx, 100*time.Millisecond)
	if err := wait(ctx, 200*time.Millisecond); err != nil {
		return "", err
	}
	return "The client reconnected for this result.", nil
}

// wait waits for d, or until the call is cancelled.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
