package main

import (
	"context"
	"fmt"
	"os/exec"

	mcpgo "github.com/mark3labs/mcp-go/client"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// A caller is a client that is ready to call.
type caller interface {
	// add calls the tool add, as a user of the client would, and returns what it says.
	add(ctx context.Context, a, b float64) (string, error)
	close() error
}

// A library is one that clients are made with.
type library struct {
	name  string
	start func(ctx context.Context, program string) (caller, error) // of a server that it starts
	dial  func(ctx context.Context, url string) (caller, error)
}

func libraries() []library {
	return []library{
		{"ours", startOurs, dialOurs},
		{"gosdk", startGoSDK, dialGoSDK},
		{"mcpgo", startMCPGo, dialMCPGo},
	}
}

// arguments are what the tool is given: a map, which all of them take.
func arguments(a, b float64) map[string]any { return map[string]any{"a": a, "b": b} }

type ours struct{ client *client.Client }

func startOurs(ctx context.Context, program string) (caller, error) {
	client, err := client.Start(ctx, client.Command{Program: program, Args: []string{"mcp"}}, client.Options{Revision: mcp.LatestHandshake})
	return ours{client}, err
}

func dialOurs(ctx context.Context, url string) (caller, error) {
	client, err := client.Dial(ctx, url, client.Options{Revision: mcp.LatestHandshake})
	return ours{client}, err
}

func (c ours) add(ctx context.Context, a, b float64) (string, error) {
	result, err := c.client.CallTool(ctx, "add", arguments(a, b))
	if err != nil {
		return "", err
	}
	return result.Text(), nil
}

func (c ours) close() error { return c.client.Close() }

type sdk struct{ session *gosdk.ClientSession }

func startGoSDK(ctx context.Context, program string) (caller, error) {
	return connectGoSDK(ctx, &gosdk.CommandTransport{Command: exec.Command(program, "mcp")})
}

func dialGoSDK(ctx context.Context, url string) (caller, error) {
	return connectGoSDK(ctx, &gosdk.StreamableClientTransport{Endpoint: url})
}

func connectGoSDK(ctx context.Context, t gosdk.Transport) (caller, error) {
	session, err := gosdk.NewClient(&gosdk.Implementation{Name: "bench", Version: "1"}, nil).Connect(ctx, t, nil)
	return sdk{session}, err
}

func (c sdk) add(ctx context.Context, a, b float64) (string, error) {
	result, err := c.session.CallTool(ctx, &gosdk.CallToolParams{Name: "add", Arguments: arguments(a, b)})
	if err != nil {
		return "", err
	}
	if text, ok := result.Content[0].(*gosdk.TextContent); ok {
		return text.Text, nil
	}
	return "", fmt.Errorf("its content is %T", result.Content[0])
}

func (c sdk) close() error { return c.session.Close() }

type mark3 struct{ client *mcpgo.Client }

func startMCPGo(ctx context.Context, program string) (caller, error) {
	client, err := mcpgo.NewStdioMCPClient(program, nil, "mcp")
	return greetMCPGo(ctx, client, err)
}

func dialMCPGo(ctx context.Context, url string) (caller, error) {
	client, err := mcpgo.NewStreamableHttpClient(url)
	if err == nil {
		err = client.Start(ctx)
	}
	return greetMCPGo(ctx, client, err)
}

func greetMCPGo(ctx context.Context, client *mcpgo.Client, err error) (caller, error) {
	if err != nil {
		return nil, err
	}
	hello := mcpgotypes.InitializeRequest{}
	hello.Params.ProtocolVersion = mcpgotypes.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcpgotypes.Implementation{Name: "bench", Version: "1"}
	_, err = client.Initialize(ctx, hello)
	return mark3{client}, err
}

func (c mark3) add(ctx context.Context, a, b float64) (string, error) {
	request := mcpgotypes.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = "add", arguments(a, b)
	result, err := c.client.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	if text, ok := result.Content[0].(mcpgotypes.TextContent); ok {
		return text.Text, nil
	}
	return "", fmt.Errorf("its content is %T", result.Content[0])
}

func (c mark3) close() error { return c.client.Close() }
