package mcphttp_test

import (
	"context"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// newAdder returns a server with the tool add.
func newAdder() *mcp.Server {
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, fixture.Add); err != nil {
		log.Fatal(err)
	}
	return server
}

// callAdd connects to a server and calls its tool add.
func callAdd(ctx context.Context, server clienthttp.Server) (string, error) {
	c, err := clienthttp.Dial(ctx, server, client.Options{})
	if err != nil {
		return "", err
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "add", map[string]any{"a": 2, "b": 3})
	if err != nil {
		return "", err
	}
	return result.Text(), nil
}

// A handler in a program that has its own http.Server and other pages.
func ExampleHandler() {
	handler := mcphttp.NewHandler(newAdder(), mcphttp.Options{})
	mux := http.NewServeMux()
	mux.Handle("/api/mcp", handler)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "home") })
	web := httptest.NewServer(mux)
	defer web.Close()

	ctx := context.Background()
	fmt.Println(callAdd(ctx, clienthttp.Server{URL: web.URL + "/api/mcp"}))
	fmt.Println(handler.Shutdown(ctx)) // waits for calls in flight
	// Output:
	// {"sum":5} <nil>
	// <nil>
}

// A server on its own port. Callers must send a key.
func ExampleServe() {
	const key = "0123456789abcdef0123456789abcdef"
	keys, err := auth.Keys("adder", []string{"alice=" + key})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background()) // a program uses signal.NotifyContext
	err = mcphttp.Serve(ctx, mcphttp.NewHandler(newAdder(), mcphttp.Options{}), mcphttp.ServeOptions{
		Addr:  "127.0.0.1:0",
		Gates: []auth.Gate{keys},
		Ready: func(addr net.Addr) {
			defer stop()
			server := clienthttp.Server{URL: "http://" + addr.String() + "/mcp", Header: http.Header{"X-Api-Token": {key}}}
			fmt.Println(callAdd(ctx, server))
		},
	})
	fmt.Println(err)
	// Output:
	// {"sum":5} <nil>
	// <nil>
}
