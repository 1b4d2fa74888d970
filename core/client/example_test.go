package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
)

// add is the function of the tool.
var add = fixture.Add

// A client of a program that serves MCP over its standard input and output.
func ExampleStart() {
	ctx := context.Background()
	c, err := client.Start(ctx, client.Command{Program: "weather", Args: []string{"mcp"}}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "forecast", map[string]any{"city": "Oslo"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
}

// A client of a server in the same process.
func ExampleInProcess() {
	ctx := context.Background()
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, add); err != nil {
		log.Fatal(err)
	}
	c, err := client.InProcess(ctx, server, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "add", map[string]any{"a": 2, "b": 3})
	fmt.Println(c.Server().Name, c.Revision(), result.Text(), err)
	// Output: adder 2026-07-28 {"sum":5} <nil>
}
