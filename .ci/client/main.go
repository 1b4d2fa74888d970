// Command client is the client that .ci/conformance lets the official suite look at: core/client's, and what a scenario
// wants done with it.
//
// Usage: client [-pin] URL
//
// The suite says in the environment which scenario it plays, and in which revision of the protocol. The client finds
// out by itself what the server speaks, as clients do; with -pin it speaks the suite's revision and no other.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/client/clienthttp"
	"github.com/petrock/petrock/core/mcp"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// play is what is done in a scenario once the client has begun to speak to the server.
type play func(context.Context, *client.Client) error

// plays are the scenarios, by their names.
var plays = map[string]play{
	"initialize":                          listTools,
	"tools_call":                          callTool("add_numbers", map[string]any{"a": 5, "b": 3}),
	"elicitation-sep1034-client-defaults": callTool("test_client_elicitation_defaults", nil),
	"sse-retry":                           callTool("test_reconnection", nil),
	"request-metadata":                    inOrder(listTools, ping, callTool("anything", nil)),
	"http-standard-headers":               useAll,
	"http-custom-headers":                 callAsToldTo,
	"http-invalid-tool-headers":           callAllListed,
	"sep-2322-client-request-state": inOrder(listTools,
		callTool("test_mrtr_echo_state", nil), callTool("test_mrtr_no_state", nil),
		callTool("test_mrtr_unrelated", nil), callTool("test_mrtr_no_result_type", nil)),
	"json-schema-ref-no-deref":         listTools,
	"json-schema-2020-12-preservation": echoSchema,
}

func run() error {
	pin := flag.Bool("pin", false, "speak the revision that the suite names, and no other")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("the address of the server is missing")
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	play, ok := plays[scenario]
	if !ok {
		return fmt.Errorf("nobody has said what to do in scenario %q", scenario)
	}
	o := options()
	if *pin {
		o.Revision = mcp.Revision(os.Getenv("MCP_CONFORMANCE_PROTOCOL_VERSION"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	client, err := clienthttp.Dial(ctx, clienthttp.Server{URL: flag.Arg(0)}, o)
	if err != nil {
		return err
	}
	return errors.Join(play(ctx, client), client.Close())
}

// options are those of a client that answers all that a server may ask. Forms are accepted as they are.
func options() client.Options {
	return client.Options{
		Info:   mcp.Implementation{Name: "petrock-conformance", Version: "1"},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Elicit: func(_ context.Context, e *mcp.Elicitation) error {
			e.Action = mcp.ActionAccept
			return nil
		},
		OpenURL: func(_ context.Context, e *mcp.URLElicitation) error {
			e.Action = mcp.ActionDecline
			return nil
		},
		Sample: func(_ context.Context, s *mcp.Sampling) error {
			s.Answer = mcp.SampledMessage{Role: mcp.RoleAssistant, Model: "none", Content: []mcp.Content{mcp.Text{Text: "Yes."}}}
			return nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) {
			return []mcp.Root{{URI: "file:///srv/notes", Name: "notes"}}, nil
		},
	}
}

// inOrder does one after another.
func inOrder(plays ...play) play {
	return func(ctx context.Context, c *client.Client) error {
		for _, p := range plays {
			if err := p(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
}

func listTools(ctx context.Context, c *client.Client) error {
	_, err := c.Tools(ctx)
	return err
}

func ping(ctx context.Context, c *client.Client) error { return c.Ping(ctx) }

// callTool calls a tool, which must have a good result.
func callTool(name string, arguments any) play {
	return func(ctx context.Context, c *client.Client) error {
		if _, err := c.Tools(ctx); err != nil { // what is to be repeated in headers
			return err
		}
		result, err := c.CallTool(ctx, name, arguments)
		if err != nil {
			return fmt.Errorf("calling %s: %w", name, err)
		}
		if result.IsError {
			return fmt.Errorf("calling %s: it says: %s", name, result.Text())
		}
		return nil
	}
}

// useAll lists all that there is, and uses each of it.
func useAll(ctx context.Context, c *client.Client) error {
	if err := callAllListed(ctx, c); err != nil {
		return err
	}
	resources, err := c.Resources(ctx)
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := c.ReadResource(ctx, r.URI); err != nil {
			return fmt.Errorf("reading %s: %w", r.URI, err)
		}
	}
	prompts, err := c.Prompts(ctx)
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if _, err := c.GetPrompt(ctx, p.Name, nil); err != nil {
			return fmt.Errorf("getting %s: %w", p.Name, err)
		}
	}
	return nil
}

// callAllListed calls each tool that the client lists, with a text for all that it requires.
func callAllListed(ctx context.Context, c *client.Client) error {
	tools, err := c.Tools(ctx)
	if err != nil {
		return err
	}
	for _, t := range tools {
		var schema struct {
			Required []string `json:"required"`
		}
		if err := json.Unmarshal(t.InputSchema, &schema); err != nil {
			return fmt.Errorf("the schema of %s: %w", t.Name, err)
		}
		arguments := map[string]string{}
		for _, name := range schema.Required {
			arguments[name] = "some text"
		}
		if err := callTool(t.Name, arguments)(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// callAsToldTo makes the calls that the suite asks for.
func callAsToldTo(ctx context.Context, c *client.Client) error {
	var told struct {
		Calls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &told); err != nil {
		return fmt.Errorf("reading MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	for _, call := range told.Calls {
		if err := callTool(call.Name, call.Arguments)(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema gives the schema of one tool to another.
func echoSchema(ctx context.Context, c *client.Client) error {
	tool, err := c.Tool(ctx, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return callTool("json_schema_echo", map[string]any{"schema": tool.InputSchema})(ctx, c)
}
