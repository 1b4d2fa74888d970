// Mcpgo is a server on mcp-go, written as in its example of structured input and output. It does
// not validate arguments against the schema, which is the default of mcp-go and faster; the other
// two servers do.
package main

import (
	"context"
	"log"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/bench/internal/work"
)

func main() {
	s := server.NewMCPServer("mcpgo", "0.1.0", server.WithToolCapabilities(false))
	s.AddTool(mcp.NewTool("add",
		mcp.WithDescription("Adds two numbers."),
		mcp.WithInputSchema[work.AddInput](),
		mcp.WithOutputSchema[work.AddOutput](),
	), mcp.NewStructuredToolHandler(add))
	if front.Serving() {
		log.Fatal(front.Serve(server.NewStreamableHTTPServer(s, server.WithStateful(true))))
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}

func add(_ context.Context, _ mcp.CallToolRequest, in work.AddInput) (work.AddOutput, error) {
	return work.Add(in), nil
}
