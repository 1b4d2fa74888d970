// Command keeper is a server on the official Go SDK that stores events, so that clients can resume
// broken streams. No server of the SDK itself does. It serves over HTTP at the address in its
// argument.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	s := mcp.NewServer(&mcp.Implementation{Name: "keeper", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "count", Description: "Counts to ten, ten times a second."}, count)
	mcp.AddTool(s, &mcp.Tool{Name: "leave", Description: "Closes the stream before the response."}, leave)
	mcp.AddTool(s, &mcp.Tool{Name: "grow", Description: "Adds a tool."}, func(context.Context, *mcp.CallToolRequest, any) (*mcp.CallToolResult, any, error) {
		mcp.AddTool(s, &mcp.Tool{Name: "grown"}, leave)
		return said("grown"), nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{EventStore: mcp.NewMemoryEventStore(nil)})
	log.Fatal(http.ListenAndServe(os.Args[1], handler))
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

func count(ctx context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	for i := range 10 {
		time.Sleep(100 * time.Millisecond)
		err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1)})
		if err != nil {
			return nil, nil, err
		}
	}
	return said("counted"), nil, nil
}

func leave(_ context.Context, req *mcp.CallToolRequest, _ any) (*mcp.CallToolResult, any, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 50 * time.Millisecond})
	}
	time.Sleep(200 * time.Millisecond)
	return said("still here"), nil, nil
}
