// Command client runs the scenarios of the official conformance suite with core/client. It is
// started by .ci/conformance.
//
// Usage: client [-pin] URL
//
// The suite sets the scenario and the protocol revision in the environment. By default the client
// negotiates the revision. With -pin it uses only the suite's revision.
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

// A play runs a scenario with a connected client.
type play func(context.Context, *client.Client) error

// plays has the scenarios by name.
var plays = map[string]play{
	"initialize":                          listTools,
	"tools_call":                          callTool("add_numbers", map[string]any{"a": 5, "b": 3}),
	"elicitation-sep1034-client-defaults": callTool("test_client_elicitation_defaults", nil),
	"sse-retry":                           callTool("test_reconnection", nil),
	"request-metadata":                    inOrder(listTools, ping, callTool("anything", nil)),
	"http-standard-headers":               useAll,
	"http-custom-headers":                 callRequested,
	"http-invalid-tool-headers":           callAllListed,
	"sep-2322-client-request-state": inOrder(listTools,
		callTool("test_mrtr_echo_state", nil), callTool("test_mrtr_no_state", nil),
		callTool("test_mrtr_unrelated", nil), callTool("test_mrtr_no_result_type", nil)),
	"json-schema-ref-no-deref":         listTools,
	"json-schema-2020-12-preservation": echoSchema,
}

func run() error {
	pin := flag.Bool("pin", false, "use only the protocol revision of the suite")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("missing URL; usage: client [-pin] URL")
	}
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	play, ok := plays[scenario]
	if !ok {
		return fmt.Errorf("unknown scenario %q", scenario)
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

// options returns the options of a client that answers all questions. It accepts forms with their
// defaults.
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

// inOrder runs plays one after another.
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

// callTool calls a tool, and fails on any error.
func callTool(name string, arguments any) play {
	return func(ctx context.Context, c *client.Client) error {
		if _, err := c.Tools(ctx); err != nil { // some arguments are repeated in headers
			return err
		}
		result, err := c.CallTool(ctx, name, arguments)
		if err != nil {
			return fmt.Errorf("call %s: %w", name, err)
		}
		if result.IsError {
			return fmt.Errorf("call %s: tool error: %s", name, result.Text())
		}
		return nil
	}
}

// useAll calls all tools, reads all resources and gets all prompts.
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
			return fmt.Errorf("read %s: %w", r.URI, err)
		}
	}
	prompts, err := c.Prompts(ctx)
	if err != nil {
		return err
	}
	for _, p := range prompts {
		if _, err := c.GetPrompt(ctx, p.Name, nil); err != nil {
			return fmt.Errorf("get prompt %s: %w", p.Name, err)
		}
	}
	return nil
}

// callAllListed calls each listed tool, with a text for each required argument.
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
			return fmt.Errorf("schema of %s: %w", t.Name, err)
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

// callRequested makes the calls that the suite requests in the environment.
func callRequested(ctx context.Context, c *client.Client) error {
	var requested struct {
		Calls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &requested); err != nil {
		return fmt.Errorf("parse MCP_CONFORMANCE_CONTEXT: %w", err)
	}
	for _, call := range requested.Calls {
		if err := callTool(call.Name, call.Arguments)(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema passes the schema of one tool to another.
func echoSchema(ctx context.Context, c *client.Client) error {
	tool, err := c.Tool(ctx, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return callTool("json_schema_echo", map[string]any{"schema": tool.InputSchema})(ctx, c)
}
