// Late is a server that does not take standard output at the start of main. Output before
// ServeStdio reaches the client; later output does not.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/petrock/petrock/core/mcp"
)

func main() {
	fmt.Println("late: a line from main")
	held := os.Stdout
	server := mcp.NewServer(mcp.Implementation{Name: "late", Version: "1"}, mcp.Options{})
	err := server.AddTool(mcp.Tool{Name: "talk"}, func(context.Context, json.RawMessage) (*mcp.ToolResult, error) {
		fmt.Println("late: a line from a tool")
		fmt.Fprint(held, "late: half a line")
		return mcp.TextResult("talked"), nil
	})
	if err == nil {
		err = server.ServeStdio(context.Background(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
