package mcphttp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

func addTool() mcp.Tool { return mcp.Tool{Name: "add", Description: "Adds two numbers."} }

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }

func newServer(o mcp.Options) *mcp.Server {
	if o.Logger == nil {
		o.Logger = quietLogger()
	}
	return mcp.NewServer(mcp.Implementation{Name: "test", Version: "1"}, o)
}

// newFixture returns a server with tools and a resource.
func newFixture(t testing.TB, o mcp.Options) *mcp.Server {
	t.Helper()
	s := newServer(o)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(mcp.AddTool(s, addTool(), fixture.Add))
	must(s.AddTool(mcp.Tool{Name: "greets"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult("hello"), nil
	}))
	must(s.AddTool(mcp.Tool{Name: "waits"}, func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(time.Minute):
			return mcp.TextResult("that was long"), nil
		}
	}))
	must(s.AddResource(mcp.Resource{URI: "note://readme", Name: "readme"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{MIMEType: "text/plain", Text: "hello"}}, nil
	}))
	must(s.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "name"}}}, func(context.Context, map[string]string) (*mcp.PromptResult, error) { return nil, nil }))
	must(s.CompletePrompt("greet", func(context.Context, string, string, map[string]string) ([]string, error) { return nil, nil }))
	return s
}

func nameForm() *mcp.Elicitation {
	return &mcp.Elicitation{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)}
}
