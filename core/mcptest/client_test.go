package mcptest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/peer"
)

type addInput struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type addOutput struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, in addInput) (addOutput, error) {
	return addOutput{in.A + in.B}, nil
}

// register returns the function that registers add under a name.
func register(name string) func(*mcp.Server) error {
	return func(s *mcp.Server) error {
		return mcp.AddTool(s, mcp.Tool{
			Name:         name,
			Description:  "Adds two numbers.",
			InputSchema:  json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"],"additionalProperties":false}`),
		}, add)
	}
}

func newServer(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1"}, mcp.Options{PageSize: 1, Instructions: "Add."})
	if err := errors.Join(register("plus")(s), register("add")(s)); err != nil {
		t.Fatal(err)
	}
	return s
}

// The three lines of the package comment.
func TestServe(t *testing.T) {
	client := mcptest.Serve(t, register("add"), register("plus"))
	result := client.CallTool("add", map[string]any{"a": 2, "b": 3})
	if got := result.Text(); got != `{"sum":5}` {
		t.Errorf(`add: got %q, want "{\"sum\":5}"`, got)
	}

	if got := client.CallTool("add", `{"a":2,"b":4}`).Text(); got != `{"sum":6}` {
		t.Errorf(`add of JSON text: got %q, want "{\"sum\":6}"`, got)
	}
	if tools := client.Tools(); len(tools) != 2 || client.Server.Name != "test" {
		t.Errorf(`the server %q offers %+v; want the server "test" with two tools`, client.Server.Name, tools)
	}
}

// A failing test records why it failed, and stops.
type failing struct {
	testing.TB
	why string
}

func (f *failing) Fatal(why ...any) {
	f.why = fmt.Sprint(why...)
	runtime.Goexit()
}

func TestServeFails(t *testing.T) {
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		mcptest.Serve(f, register("add"), register("add"), func(*mcp.Server) error {
			t.Error("the test continues after an error")
			return nil
		})
	}()
	if <-done; !strings.Contains(f.why, "add tool add: already exists") {
		t.Errorf(`the test fails with %q, want it to contain "add tool add: already exists"`, f.why)
	}
}

func TestConnect(t *testing.T) {
	client := mcptest.Connect(t, newServer(t))
	result := client.CallTool("add", map[string]any{"a": 2, "b": 3})
	if got := result.Text(); got != `{"sum":5}` {
		t.Errorf(`add: got %q, want "{\"sum\":5}"`, got)
	}

	if string(result.StructuredContent) != `{"sum":5}` || result.IsError {
		t.Errorf(`result = %+v; want StructuredContent "{\"sum\":5}" and IsError false`, result)
	}
	if client.Server.Name != "adder" || client.Revision != mcp.LatestHandshake || client.Instructions != "Add." || !client.Capabilities.Has("tools") {
		t.Errorf(`the client is %+v; want server "adder", revision %s, instructions "Add." and the capability tools`, client, mcp.LatestHandshake)
	}
}

func TestListsFollowPages(t *testing.T) {
	tools := mcptest.Connect(t, newServer(t)).Tools()
	if len(tools) != 2 || tools[0].Name != "add" || tools[1].Name != "plus" {
		t.Errorf("the tools are %+v, want add and plus", tools)
	}
}

func TestProtocolErrorsAreErrors(t *testing.T) {
	client := mcptest.Connect(t, newServer(t))
	err := client.Call("tools/call", map[string]any{"name": "nope"}, nil)
	if !errors.Is(err, jsonrpc.InvalidParams) {
		t.Errorf("an unknown tool: got %v, want %v", err, jsonrpc.InvalidParams)
	}
}

func TestNextWaits(t *testing.T) {
	server := newServer(t)
	client := mcptest.Connect(t, server)
	client.Call("ping", nil, nil)
	server.RemoveTool("plus")
	client.Next("notifications/tools/list_changed")
	if left := client.Received(); len(left) != 0 {
		t.Errorf("Received() = %+v after it was emptied, want nothing", left)
	}
}

func TestCancel(t *testing.T) {
	server := newServer(t)
	stopped := make(chan error, 1)
	err := server.AddTool(mcp.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		<-ctx.Done()
		stopped <- context.Cause(ctx)
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	client := mcptest.Connect(t, server)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := client.CallContext(ctx, "tools/call", map[string]any{"name": "wait"}, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error: got %v, want %v", err, context.DeadlineExceeded)
	}
	if cause := <-stopped; !errors.Is(cause, peer.ErrCancelled) {
		t.Errorf("the tool was stopped by %v, want %v", cause, peer.ErrCancelled)
	}
}
