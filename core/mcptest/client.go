package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
)

// Options configure the client of [ConnectWith]. Revision defaults to the newest that has a handshake.
type Options = client.Options

// A Client is connected to a server under test.
type Client struct {
	Revision     mcp.Revision // that client and server have agreed on
	Server       mcp.Implementation
	Capabilities mcp.Capabilities // of the server
	Instructions string

	t             testing.TB
	client        *client.Client
	notifications *inbox
	panics        *panicLog // nil unless the server is one of Serve
}

// Serve connects to a new server, after calling each of register with it. An error of one of them fails
// the test. The server logs to the output of the test.
func Serve(t testing.TB, register ...func(*mcp.Server) error) *Client {
	t.Helper()
	panics := newPanicLog(t.Output())
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{Logger: slog.New(panics)})
	for _, r := range register {
		if err := r(s); err != nil {
			t.Fatal(err)
		}
	}
	c := Connect(t, s)
	c.panics = panics
	return c
}

// Connect connects to s.
func Connect(t testing.TB, s *mcp.Server) *Client {
	t.Helper()
	return ConnectWith(t, s, Options{})
}

// ConnectWith connects to s with the given options. The connection ends with the test.
func ConnectWith(t testing.TB, s *mcp.Server, o Options) *Client {
	t.Helper()
	if o.Revision == "" {
		o.Revision = mcp.LatestHandshake
	}
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcptest", Version: "1"}
	}
	if o.Timeout == 0 {
		o.Timeout = time.Hour // go test has a timeout of its own
	}
	c := &Client{t: t, notifications: newInbox()}
	forward := o.Notification
	o.Notification = func(ctx context.Context, method string, params json.RawMessage) {
		c.notifications.put(Notification{method, params})
		if forward != nil {
			forward(ctx, method, params)
		}
	}
	var err error
	if c.client, err = client.InProcess(t.Context(), s, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.Close(); err != nil {
			t.Error(err)
		}
	})
	c.Revision, c.Server = c.client.Revision(), c.client.Server()
	c.Capabilities, c.Instructions = c.client.Capabilities(), c.client.Instructions()
	return c
}

// Call sends a request and decodes its result into result, which may be nil. An error of the server is a
// [*jsonrpc.Error]. If the server is one of [Serve], the error of a call that panicked says where.
func (c *Client) Call(method string, params, result any) error {
	return c.CallContext(c.t.Context(), method, params, result)
}

// CallContext is [Client.Call] with a context. When ctx ends, it cancels the request.
func (c *Client) CallContext(ctx context.Context, method string, params, result any) error {
	return c.addPanic(c.client.Request(ctx, method, params, result))
}

// addPanic adds the last panic of the server to an error.
func (c *Client) addPanic(err error) error {
	if text := c.panics.take(); text != "" && err != nil {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) {
	c.t.Helper()
	if err := c.client.Notify(c.t.Context(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

// must is [Client.Call] for a request that must succeed.
func (c *Client) must(method string, params, result any) {
	c.t.Helper()
	if err := c.Call(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

// CallTool calls a tool. Arguments are a Go value or, as a string, JSON text; nil omits them. A result
// with IsError set is a result; an error of the protocol fails the test.
func (c *Client) CallTool(name string, arguments any) *mcp.ToolResult {
	c.t.Helper()
	var result mcp.ToolResult
	c.must("tools/call", callParams(name, arguments), &result)
	return &result
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string) []mcp.ResourceContents {
	c.t.Helper()
	contents, err := c.client.ReadResource(c.t.Context(), uri)
	return noError(c, "resources/read", contents, err)
}

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(name string, arguments map[string]string) *mcp.PromptResult {
	c.t.Helper()
	result, err := c.client.GetPrompt(c.t.Context(), name, arguments)
	return noError(c, "prompts/get", result, err)
}

// Tools lists all tools.
func (c *Client) Tools() []mcp.Tool {
	c.t.Helper()
	all, err := c.client.Tools(c.t.Context())
	return noError(c, "tools/list", all, err)
}

// Resources lists all resources.
func (c *Client) Resources() []mcp.Resource {
	c.t.Helper()
	all, err := c.client.Resources(c.t.Context())
	return noError(c, "resources/list", all, err)
}

// ResourceTemplates lists all resource templates.
func (c *Client) ResourceTemplates() []mcp.ResourceTemplate {
	c.t.Helper()
	all, err := c.client.ResourceTemplates(c.t.Context())
	return noError(c, "resources/templates/list", all, err)
}

// Prompts lists all prompts.
func (c *Client) Prompts() []mcp.Prompt {
	c.t.Helper()
	all, err := c.client.Prompts(c.t.Context())
	return noError(c, "prompts/list", all, err)
}

// noError returns v. It fails the test if there is an error.
func noError[T any](c *Client, method string, v T, err error) T {
	c.t.Helper()
	if err := c.addPanic(err); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return v
}
