// Gosdk is the server on the official Go SDK, as its README writes one: typed tools,
// whose schemas are derived from Go types, over the stdio transport or over HTTP.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/bench/internal/work"
)

func main() {
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "0.1.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, add)
	if front.Serving() {
		log.Fatal(front.Serve(handler(server)))
	}
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

// handler serves with sessions or, if asked to, without: one and the same handler does not do
// both. Answers are plain JSON, which is the SDK's faster way, and not a stream of one event.
func handler(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		JSONResponse: true,
		Stateless:    slices.Contains(os.Args, front.StatelessFlag),
	})
}

func add(_ context.Context, _ *mcp.CallToolRequest, in work.AddInput) (*mcp.CallToolResult, work.AddOutput, error) {
	return nil, work.Add(in), nil
}
