package serve_test

import (
	"context"
	"os"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/serve"
)

// wire returns the functions that register the components of the server. In a project it is derived
// from the code.
func wire() serve.Wiring {
	type numbers struct {
		A float64 `json:"a"`
		B float64 `json:"b"`
	}
	type total struct {
		Sum float64 `json:"sum"`
	}
	return serve.Wiring{Register: func(_ context.Context, s *mcp.Server) error {
		return mcp.AddTool(s, mcp.Tool{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, in numbers) (total, error) {
			return total{in.A + in.B}, nil
		})
	}}
}

// The main function of a server. MCP clients start it as "hello mcp".
func ExampleMain() {
	os.Exit(serve.Main(serve.Config{Name: "hello", Wire: wire}))
}

// A test of the command line: hello call add a=2 b=3.
func ExampleRun() {
	config := serve.Config{Name: "hello", Wire: wire}
	serve.Run(context.Background(), config, []string{"call", "add", "a=2", "b=3"}, os.Stdout, os.Stderr)
	// Output: {"sum":5}
}
