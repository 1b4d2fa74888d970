package appmcp_test

import (
	"context"
	"fmt"
	"log"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// A Counter is the state of the feature.
type Counter struct{ N int }

// Add is its command.
type Add struct {
	By int `json:"by"`
}

func (c Add) Check(context.Context, *Counter) error { return nil }

func (c Add) Apply(s *Counter, e app.Event) int {
	s.N += c.By
	return s.N
}

// Value is its query.
type Value struct{}

func (Value) Answer(_ context.Context, s *Counter) (int, error) { return s.N, nil }

// counter returns the feature with its tools, as derived code does.
func counter() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "counter",
			State:    app.StateOf(func() *Counter { return &Counter{} }),
			Commands: []app.CommandType{app.CommandTypeOf[Add]("add", 1)},
			Queries:  []app.QueryType{app.QueryTypeOf[Value]("value")},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			if err := mcp.AddTool(s, mcp.Tool{Name: "counter_add"}, appmcp.Do[Add](a)); err != nil {
				return err
			}
			return mcp.AddTool(s, mcp.Tool{Name: "counter_value"}, appmcp.Query[Value](a))
		},
	}
}

// A server whose tools are the commands and queries of a feature.
func ExampleRegister() {
	ctx := context.Background()
	o := app.Options{Actor: appmcp.Actor, Cause: appmcp.Cause, OnStale: appmcp.OnStale}
	a, err := app.Open(ctx, eventlog.NewMemory(), o, counter().Feature)
	if err != nil {
		log.Fatal(err)
	}
	server := mcp.NewServer(mcp.Implementation{Name: "counter", Version: "1.0.0"}, mcp.Options{})
	if err := appmcp.Register(server, a, appmcp.Options{}, counter()); err != nil {
		log.Fatal(err)
	}

	c, err := client.InProcess(ctx, server, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	for _, tool := range []string{"counter_add", "counter_value"} {
		arguments := map[string]any{}
		if tool == "counter_add" {
			arguments["by"] = 5
		}
		result, err := c.CallTool(ctx, tool, arguments)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool, result.Text())
	}
	// Output:
	// counter_add 5
	// counter_value 5
}
