package tools

import (
	"context"
	"time"

	"github.com/petrock/petrock/core/mcp"
)

// Tools that take a while: they say how far they are, stop when nobody waits any more, and let the client go away
// meanwhile.

// Progress works for a moment, and tells how far it is.
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

// Reconnection works for a moment, and lets the client hang up and ask again, where the protocol has that.
//
//petrock:name test_reconnection
//petrock:hints read-only closed-world
func Reconnection(ctx context.Context, _ struct{}) (string, error) {
	mcp.Suspend(ctx, 100*time.Millisecond)
	if err := wait(ctx, 200*time.Millisecond); err != nil {
		return "", err
	}
	return "The client went away and came back for this.", nil
}

// wait waits, unless the call is cancelled meanwhile.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
