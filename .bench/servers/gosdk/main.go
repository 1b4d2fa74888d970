// Gosdk is a server on the official Go SDK, written as in its README: typed tools, whose schemas
// are derived from Go types, over stdio or HTTP.
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

// handler serves with sessions, or without them if StatelessFlag is given: a handler of the SDK
// cannot do both. Responses are plain JSON, which the SDK serves faster than streams.
func handler(s *mcp.Server) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		JSONResponse: true,
		Stateless:    slices.Contains(os.Args, front.StatelessFlag),
	})
}

func add(_ context.Context, _ *mcp.CallToolRequest, in work.AddInput) (*mcp.CallToolResult, work.AddOutput, error) {
	return nil, work.Add(in), nil
}
