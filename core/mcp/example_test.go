package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcp/testdata/fixture"
	"github.com/petrock/petrock/core/mcphttp"
)

// add is the function of the tool.
var add = fixture.Add

// newAdder returns a server with the tool add.
func newAdder() *mcp.Server {
	server := mcp.NewServer(mcp.Implementation{Name: "adder", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "add", Description: "Adds two numbers."}, add); err != nil {
		log.Fatal(err)
	}
	return server
}

// A prompt whose arguments are the fields of a struct.
func ExampleAddPrompt() {
	type review struct {
		Code  string `json:"code" schema:"description='What to review'"`
		Style string `json:"style,omitempty" schema:"enum=brief|thorough"`
	}
	server := mcp.NewServer(mcp.Implementation{Name: "reviewer", Version: "1.0.0"}, mcp.Options{})
	err := mcp.AddPrompt(server, mcp.Prompt{Name: "review"}, func(ctx context.Context, in review) (string, error) {
		return "Review this code: " + in.Code, nil
	})
	fmt.Println(err)
	// Output: <nil>
}

// Resources below one address: the variables of the template are the fields of a struct.
func ExampleAddResourceTemplate() {
	type place struct {
		City string `json:"city" schema:"pattern='^[a-z]+$'"`
	}
	type weather struct {
		Celsius float64 `json:"celsius"`
	}
	server := mcp.NewServer(mcp.Implementation{Name: "weather", Version: "1.0.0"}, mcp.Options{})
	err := mcp.AddResourceTemplate(server, mcp.ResourceTemplate{URITemplate: "weather://{city}", Name: "weather"},
		func(ctx context.Context, in place) (weather, error) { return weather{21.5}, nil })
	fmt.Println(err)
	// Output: <nil>
}

// A tool that takes its arguments as JSON, returns a ToolResult, and reports progress.
func ExampleServer_AddTool() {
	server := mcp.NewServer(mcp.Implementation{Name: "draw", Version: "1.0.0"}, mcp.Options{})
	err := server.AddTool(mcp.Tool{
		Name:        "draw",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string"}}}`),
	}, func(ctx context.Context, arguments json.RawMessage) (*mcp.ToolResult, error) {
		mcp.Progress(ctx, 1, 2, "half-way")
		return &mcp.ToolResult{Content: []mcp.Content{
			mcp.Text{Text: "Here it is:"},
			mcp.Image{Data: []byte("…"), MIMEType: "image/png"},
		}}, nil
	})
	fmt.Println(err)
	// Output: <nil>
}

// A server over HTTP in an existing mux, with an API key.
func Example_http() {
	const key = "0b9d41a7c6f3e85299ab1d70c4e6f812" // from the environment, in a program
	gate, err := auth.Keys("adder", []string{key})
	if err != nil {
		log.Fatal(err)
	}
	handler := mcphttp.NewHandler(newAdder(), mcphttp.Options{})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		caller, err := gate.Authenticate(r)
		if err != nil || caller == nil {
			w.Header().Set("WWW-Authenticate", gate.Challenge("", nil))
			http.Error(w, "send "+gate.Credentials(), http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), caller)))
	})
	web := httptest.NewServer(mux) // or http.ListenAndServe("127.0.0.1:8080", mux)
	defer web.Close()

	ctx := context.Background()
	c, err := clienthttp.Dial(ctx, clienthttp.Server{URL: web.URL + "/mcp", Header: http.Header{"X-Api-Token": {key}}}, client.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "add", map[string]any{"a": 2, "b": 3})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())

	_, err = clienthttp.Dial(ctx, clienthttp.Server{URL: web.URL + "/mcp"}, client.Options{})
	fmt.Println(strings.Contains(err.Error(), "401"))
	// Output:
	// {"sum":5}
	// true
}

// A tool that asks the user before it acts. In a session it waits for the answer; in revision
// 2026-07-28 it runs again when the answer has come.
func ExampleAsk() {
	remove := func(ctx context.Context, in struct{}) (string, error) {
		sure := mcp.Elicitation{
			Key:     "sure",
			Message: "Remove all notes?",
			Schema:  json.RawMessage(`{"type":"object","properties":{"keepStarred":{"type":"boolean","default":true}}}`),
		}
		if err := mcp.Ask(ctx, &sure); err != nil {
			return "", err
		}
		if sure.Action != mcp.ActionAccept {
			return "nothing was removed", nil
		}
		return "removed with " + string(sure.Content), nil
	}
	server := mcp.NewServer(mcp.Implementation{Name: "notes", Version: "1.0.0"}, mcp.Options{})
	if err := mcp.AddTool(server, mcp.Tool{Name: "remove_all"}, remove); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	c, err := client.InProcess(ctx, server, client.Options{
		Elicit: func(ctx context.Context, e *mcp.Elicitation) error {
			fmt.Println(e.Message)
			e.Action = mcp.ActionAccept
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	result, err := c.CallTool(ctx, "remove_all", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text())
	// Output:
	// Remove all notes?
	// removed with {"keepStarred":true}
}
