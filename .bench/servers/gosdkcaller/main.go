// Gosdkcaller is what a project of petrock's ships, on the official Go SDK: a server, over stdio and HTTP, that also calls servers,
// over all transports. Only its size counts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/petrock/petrock/bench/internal/front"
	"github.com/petrock/petrock/bench/internal/work"
)

func main() {
	ctx := context.Background()
	if len(os.Args) > 3 && os.Args[1] == "call" {
		if err := call(ctx, os.Args[2], os.Args[3], os.Args[4:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "gosdkcaller", Version: "0.1.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."}, add)
	if front.Serving() {
		handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
		log.Fatal(front.Serve(handler))
	}
	if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}

func add(_ context.Context, _ *mcp.CallToolRequest, in work.AddInput) (*mcp.CallToolResult, work.AddOutput, error) {
	return nil, work.Add(in), nil
}

// call lists the tools of a server and calls one without arguments. kind is how to reach it: http, sse, or anything else for a command.
func call(ctx context.Context, kind, tool string, target []string) error {
	var transport mcp.Transport
	switch {
	case len(target) == 0:
		return fmt.Errorf("no server given")
	case kind == "http":
		transport = &mcp.StreamableClientTransport{Endpoint: target[0]}
	case kind == "sse":
		transport = &mcp.SSEClientTransport{Endpoint: target[0]}
	default:
		transport = &mcp.CommandTransport{Command: exec.Command(target[0], target[1:]...)}
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "gosdkcaller", Version: "0.1.0"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name)
	}
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool})
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
