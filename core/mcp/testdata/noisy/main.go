// Noisy is a server whose dependencies print to standard output.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/noisy/chatty"
	"github.com/petrock/petrock/core/stdfd"
)

func main() {
	out, err := stdfd.TakeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	chatty.Start()
	fmt.Println("noisy: a line from main")
	server := mcp.NewServer(mcp.Implementation{Name: "noisy", Version: "1"}, mcp.Options{Grace: 600 * time.Millisecond})
	tools := map[string]mcp.ToolHandler{
		"talk": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			chatty.Talk()
			stolen, err := io.ReadAll(os.Stdin)
			return mcp.TextResult(fmt.Sprintf("talked, read %d bytes, %v", len(stolen), err)), nil
		},
		// nap ends within the grace period, sleep ends with its context, and stubborn never ends.
		"nap": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
			time.Sleep(200 * time.Millisecond)
			return mcp.TextResult("rested"), nil
		},
		"sleep": func(ctx context.Context, _ json.RawMessage) (*mcp.ToolResult, error) {
			<-ctx.Done()
			return mcp.TextResult("woken"), nil
		},
		"stubborn": func(context.Context, json.RawMessage) (*mcp.ToolResult, error) { select {} },
	}
	for name, handler := range tools {
		if err := server.AddTool(mcp.Tool{Name: name}, handler); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := server.ServeStdio(context.Background(), out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
