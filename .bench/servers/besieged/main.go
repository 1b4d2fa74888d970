// Besieged is the server that siege attacks. It has the command line of a petrock project's server,
// a tool that sends elicitations, and resources to subscribe to.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/serve"
	"github.com/petrock/petrock/skeleton/base/tools"
)

func main() {
	front.ReportUsage(os.Stderr)
	os.Exit(serve.Main(serve.Config{Name: "besieged", Wire: func() serve.Wiring { return serve.Wiring{Register: register} }}))
}

func register(_ context.Context, s *mcp.Server) error {
	if err := tools.Register(s); err != nil {
		return err
	}
	asks := func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
		return nil, mcp.Ask(ctx, &mcp.Elicitation{Message: "Who?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
	}
	if err := s.AddTool(mcp.Tool{Name: "asks"}, asks); err != nil {
		return err
	}
	big := func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		return mcp.TextResult(strings.Repeat("x", 3<<20)), nil
	}
	if err := s.AddTool(mcp.Tool{Name: "big"}, big); err != nil {
		return err
	}
	return s.AddResourceTemplate(mcp.ResourceTemplate{URITemplate: "note://{+name}", Name: "note"}, func(context.Context, string, map[string]string) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{{Text: "note"}}, nil
	})
}
