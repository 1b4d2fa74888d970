package mcp_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
)

// ways are how a client gets to a server, by name.
func ways(t *testing.T) map[string]func(*mcp.Server, mcp.ClientOptions) (*mcp.Client, error) {
	return map[string]func(*mcp.Server, mcp.ClientOptions) (*mcp.Client, error){
		"in memory": func(s *mcp.Server, o mcp.ClientOptions) (*mcp.Client, error) {
			ours, theirs := jsonrpc.Pipe()
			go s.Serve(context.Background(), theirs)
			return mcp.ClientOver(t.Context(), ours, o)
		},
		"over HTTP": func(s *mcp.Server, o mcp.ClientOptions) (*mcp.Client, error) {
			handler := s.HTTP(mcp.HTTPOptions{})
			web := httptest.NewServer(handler)
			t.Cleanup(web.Close)
			return mcp.Dial(t.Context(), web.URL, o)
		},
	}
}

// everywhere runs a test in each way and each revision.
func everywhere(t *testing.T, s func(*testing.T) *mcp.Server, o mcp.ClientOptions, f func(*testing.T, *mcp.Client)) {
	for _, revision := range append([]mcp.Revision{""}, mcp.Revisions()...) {
		for name := range ways(t) {
			t.Run(string(revision)+" "+name, func(t *testing.T) {
				o := o
				o.Revision = revision
				client, err := ways(t)[name](s(t), o)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := client.Close(); err != nil {
						t.Errorf("closing: %v", err)
					}
				}()
				if revision == "" {
					revision = mcp.Latest
				}
				if got := client.Revision(); got != revision {
					t.Errorf("it speaks %s", got)
				}
				f(t, client)
			})
		}
	}
}

func adder(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1"}, mcp.Options{PageSize: 1, Instructions: "Add."})
	for _, name := range []string{"add", "plus"} {
		err := s.AddTool(mcp.Tool{
			Name:        name,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`),
		}, mcp.Typed(func(_ context.Context, in struct {
			A float64 `json:"a"`
			B float64 `json:"b"`
		}) (map[string]float64, error) {
			return map[string]float64{"sum": in.A + in.B}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestClientCalls(t *testing.T) {
	everywhere(t, adder, mcp.ClientOptions{}, func(t *testing.T, c *mcp.Client) {
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 2 || tools[0].Name != "add" {
			t.Fatalf("tools: %v, %v", tools, err)
		}
		tool, err := c.Tool(t.Context(), "plus")
		if err != nil || string(tool.InputSchema) != `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}` {
			t.Errorf("plus is %+v, %v", tool, err)
		}
		result, err := c.CallTool(t.Context(), "add", map[string]any{"a": 1, "b": 2})
		if err != nil || result.Text() != `{"sum":3}` || result.IsError {
			t.Errorf("add gives %+v, %v", result, err)
		}
		if c.Server().Name != "adder" || c.Instructions() != "Add." {
			t.Errorf("the server is %+v, %q", c.Server(), c.Instructions())
		}
	})
}
