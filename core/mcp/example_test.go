package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// A server with one tool, and a client that is a few lines of text.
func Example() {
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	err := mcp.AddTool(server, mcp.Tool{
		Name:        "add",
		Description: "Adds two numbers.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"],"additionalProperties":false}`),
	}, add)
	if err != nil {
		log.Fatal(err)
	}

	// A program would now call server.ServeStdio(ctx, os.Stdout).
	client := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":2,"b":3}}}
`)
	var out strings.Builder
	if err := server.Serve(context.Background(), jsonrpc.NewLines(client, &out, jsonrpc.LinesOptions{})); err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.String())
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"logging":{},"tools":{"listChanged":true}},"serverInfo":{"name":"adder","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"{\"sum\":5}"}],"structuredContent":{"sum":5}}}
}

// A tool that decides itself what its result looks like, and tells how far it is.
func ExampleToolHandler() {
	handler := func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 2, "half-way")
		mcp.Logger(ctx).Debug("drawing", "arguments", string(arguments))
		return &mcp.ToolResult{Content: []mcp.Content{
			mcp.Text{Text: "Here it is:"},
			mcp.Image{Data: []byte("…"), MIMEType: "image/png"},
		}}, nil
	}
	result, err := handler(context.Background(), json.RawMessage(`{}`))
	fmt.Println(result.Text(), len(result.Content), err)
	// Output: Here it is: 2 <nil>
}

// A tool that asks before it acts. It runs in every revision that knows forms: in a session it
// waits for the answer, without one it runs again when the answer has come.
func ExampleAsk() {
	remove := func(ctx context.Context, in struct{}) (string, error) {
		sure := mcp.Elicitation{
			Key:     "sure",
			Message: "Remove all notes?",
			Schema:  json.RawMessage(`{"type":"object","properties":{"keepStarred":{"type":"boolean","default":true}}}`),
		}
		if err := mcp.Ask(ctx, &sure); err != nil {
			return "", err
		}
		if sure.Action != mcp.ActionAccept {
			return "nothing was removed", nil
		}
		return "removed with " + string(sure.Content), nil
	}
	server := mcp.NewServer(mcp.Implementation{Name: "notes", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "remove_all"}, remove); err != nil {
		log.Fatal(err)
	}
	client := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remove_all","inputResponses":{"sure":{"action":"accept","content":{}}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}
`)
	var out strings.Builder
	if err := server.Serve(context.Background(), jsonrpc.NewLines(client, &out, jsonrpc.LinesOptions{})); err != nil {
		log.Fatal(err)
	}
	fmt.Print(out.String())
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"removed with {\"keepStarred\":true}"}],"structuredContent":"removed with {\"keepStarred\":true}","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"notes","version":"1.0.0"}}}}
}

// A client of a server that it starts: what it offers, one of its tools, and what that says.
func ExampleStart() {
	ctx := context.Background()
	client, err := mcp.Start(ctx, mcp.Command{Program: "weather", Args: []string{"mcp"}}, mcp.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	tool, err := client.Tool(ctx, "forecast")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tool.Description, string(tool.InputSchema))
	result, err := client.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
}

// A client of a server in the same program.
func ExampleClientOver() {
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, add); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ours, theirs := jsonrpc.Pipe()
	go server.Serve(ctx, theirs)
	client, err := mcp.ClientOver(ctx, ours, mcp.ClientOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	result, err := client.CallTool(ctx, "add", map[string]any{"a": 2, "b": 3})
	fmt.Println(client.Server().Name, client.Revision(), result.Text(), err)
	// Output: adder 2026-07-28 {"sum":5} <nil>
}
