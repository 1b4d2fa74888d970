// Command asker is a server on mcp-go with features that the examples of mcp-go lack: a tool that
// asks in both eras, and lists and a resource that change. It serves over stdio or, with an address
// as argument, over HTTP.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func main() {
	s := server.NewMCPServer("asker", "1", server.WithToolCapabilities(true), server.WithResourceCapabilities(true, true), server.WithElicitation())
	s.AddTool(mcp.NewTool("deploy", mcp.WithString("environment", mcp.Required())), deploy)
	s.AddTool(mcp.NewTool("grow"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.AddTool(mcp.NewTool("grown"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("new"), nil
		})
		return mcp.NewToolResultText("grown"), nil
	})
	s.AddResource(mcp.NewResource("note://1", "note"), func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: "note://1", Text: "a note"}}, nil
	})
	s.AddTool(mcp.NewTool("touch"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.SendNotificationToAllClients(string(mcp.MethodNotificationResourceUpdated), map[string]any{"uri": "note://1"})
		return mcp.NewToolResultText("touched"), nil
	})
	var err error
	if len(os.Args) > 1 {
		err = server.NewStreamableHTTPServer(s).Start(os.Args[1])
	} else {
		err = server.ServeStdio(s)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// deploy asks for confirmation.
func deploy(_ context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if answer := server.ElicitationResponse(request.Params.InputResponses, "confirm"); answer != nil {
		if answer.Action != mcp.ElicitationResponseActionAccept {
			return mcp.NewToolResultText("not deployed"), nil
		}
		return mcp.NewToolResultText("deployed to " + request.Params.RequestState), nil
	}
	environment := request.GetString("environment", "")
	return server.NewInputRequestBuilder(environment).
		Elicit("confirm", mcp.ElicitationParams{
			Mode:    mcp.ElicitationModeForm,
			Message: "Deploy to " + environment + "?",
			RequestedSchema: map[string]any{
				"type":       "object",
				"properties": map[string]any{"approve": map[string]any{"type": "boolean"}},
			},
		}).
		ToolResult(), nil
}
