package mcp_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// Who is told of something may call the client, though the answer comes over the stream that it was told over.
func TestSSEHandlersCall(t *testing.T) {
	server := fixture(t)
	asked := make(chan error, 1)
	ready := make(chan *mcp.Client, 1)
	c := dial(t, sseServer(t, server), mcp.ClientOptions{SSE: true, ToolsChanged: func(ctx context.Context) {
		c := <-ready
		_, err := c.Tools(ctx)
		asked <- err
	}})
	ready <- c
	if err := server.AddTool(mcp.Tool{Name: "another"}, nothing); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-asked:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(5 * time.Second):
		t.Error("it waits for itself")
	}
}

// A call that is never answered ends when its time is up.
func TestSSETimesOut(t *testing.T) {
	c := dial(t, sseServer(t, fixture(t)), mcp.ClientOptions{SSE: true})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var late *jsonrpc.TimeoutError
	if _, err := c.CallTool(ctx, "waits", nil, mcp.Within(50*time.Millisecond, 0)); !errors.As(err, &late) {
		t.Errorf("it ends with %v", err)
	}
	expectSum(t, c)
}
