package clienthttp_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// A client of a server over HTTP, which is here in the same process.
func ExampleDial() {
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, fixture.Add); err != nil {
		log.Fatal(err)
	}
	web := httptest.NewServer(mcphttp.NewHandler(server, mcphttp.Options{}))
	defer web.Close()

	ctx := context.Background()
	c, err := clienthttp.Dial(ctx, clienthttp.Server{
		URL:    web.URL,
		Header: http.Header{"X-Api-Token": {"0123456789abcdef"}}, // if the server needs a key
	}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "add", map[string]any{"a": 2, "b": 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Server().Name, result.Text())
	// Output: adder {"sum":5}
}
