package client_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// BenchmarkClientCall includes the cost of the server, which runs in the same process.
func BenchmarkClientCall(b *testing.B) {
	server := fixture.New(b, mcp.Options{})
	web := httptest.NewServer(mcphttp.NewHandler(server, mcphttp.Options{}))
	defer web.Close()
	for _, revision := range []mcp.Revision{mcp.LatestHandshake, mcp.Latest} {
		o := client.Options{Revision: revision}
		for name, connect := range map[string]func() (*client.Client, error){
			"memory": func() (*client.Client, error) {
				ours, theirs := jsonrpc.Pipe()
				go server.Serve(context.Background(), theirs)
				return client.Over(b.Context(), ours, o)
			},
			"http": func() (*client.Client, error) {
				return clienthttp.Dial(b.Context(), clienthttp.Server{URL: web.URL}, o)
			},
		} {
			b.Run(string(revision)+"/"+name, func(b *testing.B) {
				client, err := connect()
				if err != nil {
					b.Fatal(err)
				}
				defer client.Close()
				arguments := json.RawMessage(`{"a":1,"b":2}`)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := client.CallTool(b.Context(), "add", arguments); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
