package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

type DivideInput struct {
	A     float64 `json:"a" schema:"description='The number to divide'"`
	B     float64 `json:"b" schema:"description='The number to divide by'"`
	Round string  `json:"round" schema:"enum=up|down|no,default=no"`
}

type DivideOutput struct {
	Quotient float64 `json:"quotient"`
}

func Divide(ctx context.Context, in DivideInput) (DivideOutput, error) {
	if in.B == 0 {
		return DivideOutput{}, errors.New("division by zero")
	}
	return DivideOutput{in.A / in.B}, nil
}

// A server with one tool. Its schemas are inferred from the types.
func Example() {
	ctx := context.Background()
	server := mcp.NewServer(mcp.Implementation{Name: "divider", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "divide", Description: "Divides two numbers."}, Divide); err != nil {
		log.Fatal(err)
	}
	// A program would now call server.ServeStdio(ctx, os.Stdout). This one is its own client.
	c, err := client.InProcess(ctx, server, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	tool, err := c.Tool(ctx, "divide")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(tool.InputSchema))
	for _, arguments := range []DivideInput{{A: 7, B: 2, Round: "no"}, {A: 7, B: 0, Round: "no"}, {A: 7, B: 2, Round: "up!"}} {
		result, err := c.CallTool(ctx, "divide", arguments)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(result.Text())
	}
	// Output:
	// {"type":"object","properties":{"a":{"type":"number","description":"The number to divide"},"b":{"type":"number","description":"The number to divide by"},"round":{"type":"string","enum":["up","down","no"],"default":"no"}},"required":["a","b"],"additionalProperties":false}
	// {"quotient":3.5}
	// division by zero
	// invalid arguments for divide:
	// round: must be one of "up", "down", "no", got "up!"
}
