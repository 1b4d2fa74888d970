// Package mcptest is an MCP client for tests, connected to a server in memory.
//
//	client := mcptest.Serve(t, tools.Register)
//	result := client.CallTool("add", tools.AddInput{A: 2, B: 3})
//	if got := result.Text(); got != `{"sum":5}` {
//		t.Errorf("add returned %s", got)
//	}
//
// An [Example] is a row of a table-driven test.
//
//	for _, example := range []mcptest.Example{
//		{Name: "two numbers", Input: tools.AddInput{A: 2, B: 3}, Output: tools.AddOutput{Sum: 5}},
//		{Name: "one number", Input: `{"a":2}`, Error: "invalid arguments"},
//	} {
//		t.Run(example.Name, func(t *testing.T) { client.CheckTool(t, "add", example) })
//	}
//
// [Serve] creates a server; [Connect] connects to an existing one. Both use a [client.InProcess]
// client. Calls go through the whole protocol: arguments are validated, and results are rendered
// for the revision. With [ConnectWith], the functions of [Options] answer questions of the server.
// Protocol errors fail the test, except those of [Client.Call] and [Client.CallContext], and those
// that an example expects. The connection ends with the test.
package mcptest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure the client of [ConnectWith]. Revision defaults to [mcp.LatestHandshake].
type Options = client.Options

// A Client is connected to a server under test.
type Client struct {
	Revision     mcp.Revision // as negotiated
	Server       mcp.Implementation
	Capabilities mcp.Capabilities // of the server
	Instructions string

	t      testing.TB
	ctx    context.Context // of the connection
	server *mcp.Server
	client *client.Client

	mu       sync.Mutex
	received []Notification // that Next has not returned
	arrived  chan struct{}  // closed when received grows
}

// Serve creates a server, calls each of register with it, and connects to it. An error of register
// fails the test. The server logs to the output of the test. Of a panic, it logs the position
// instead of the stack.
func Serve(t testing.TB, register ...func(*mcp.Server) error) *Client {
	t.Helper()
	log := slog.NewTextHandler(t.Output(), &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == "stack" {
			return slog.String("position", origin(a.Value.String()))
		}
		return a
	}})
	s := mcp.NewServer(mcp.Implementation{Name: "test", Version: "0"}, mcp.Options{Logger: slog.New(log)})
	for _, r := range register {
		if err := r(s); err != nil {
			t.Fatal(err)
		}
	}
	return Connect(t, s)
}

// Connect connects to s.
func Connect(t testing.TB, s *mcp.Server) *Client {
	t.Helper()
	return ConnectWith(t, s, Options{})
}

// Reconnect returns another client of the same server, which knows the capabilities that the server
// has gained since.
func (c *Client) Reconnect() *Client {
	c.t.Helper()
	return Connect(c.t, c.server)
}

// As returns another client of the same server, whose calls have an identity, like those of an
// authenticated caller over HTTP: client.As(&auth.Identity{Subject: "ada", Scopes:
// []string{"notes:read"}}).
func (c *Client) As(id *auth.Identity) *Client {
	c.t.Helper()
	return connect(auth.With(c.t.Context(), id), c.t, c.server, Options{})
}

// ConnectWith connects to s with the given options.
func ConnectWith(t testing.TB, s *mcp.Server, o Options) *Client {
	t.Helper()
	return connect(t.Context(), t, s, o)
}

func connect(ctx context.Context, t testing.TB, s *mcp.Server, o Options) *Client {
	t.Helper()
	o.Revision = cmp.Or(o.Revision, mcp.LatestHandshake)
	o.Timeout = cmp.Or(o.Timeout, time.Hour) // go test has its own timeout
	if o.Info.Name == "" {
		o.Info = mcp.Implementation{Name: "mcptest", Version: "1"}
	}
	c := &Client{t: t, ctx: ctx, server: s, arrived: make(chan struct{})}
	forward := o.Notification
	o.Notification = func(ctx context.Context, method string, params json.RawMessage) {
		c.mu.Lock()
		c.received = append(c.received, Notification{method, params})
		close(c.arrived)
		c.arrived = make(chan struct{})
		c.mu.Unlock()
		if forward != nil {
			forward(ctx, method, params)
		}
	}
	var err error
	if c.client, err = client.InProcess(ctx, s, o); err != nil {
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

// Call sends a request and decodes its result into result, which may be nil. An error response is a
// *jsonrpc.Error.
func (c *Client) Call(method string, params, result any) error {
	return c.CallContext(c.t.Context(), method, params, result)
}

// CallContext is [Client.Call] with a context. When ctx ends, it cancels the request.
func (c *Client) CallContext(ctx context.Context, method string, params, result any) error {
	return c.client.Request(ctx, method, params, result)
}

// CallTool calls a tool. arguments is a Go value or a string of JSON; nil omits them. A protocol
// error fails the test; a result with IsError set does not.
func (c *Client) CallTool(name string, arguments any) *mcp.ToolResult {
	c.t.Helper()
	var result mcp.ToolResult
	if err := c.Call("tools/call", callParams(name, arguments), &result); err != nil {
		c.t.Fatalf("tools/call: %v", err)
	}
	return &result
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string) []mcp.ResourceContents {
	c.t.Helper()
	return noError(c, "resources/read", func(ctx context.Context) ([]mcp.ResourceContents, error) {
		return c.client.ReadResource(ctx, uri)
	})
}

// GetPrompt returns a prompt with its arguments filled in.
func (c *Client) GetPrompt(name string, arguments map[string]string) *mcp.PromptResult {
	c.t.Helper()
	return noError(c, "prompts/get", func(ctx context.Context) (*mcp.PromptResult, error) {
		return c.client.GetPrompt(ctx, name, arguments)
	})
}

// Tools lists all tools.
func (c *Client) Tools() []mcp.Tool {
	c.t.Helper()
	return noError(c, "tools/list", c.client.Tools)
}

// Resources lists all resources.
func (c *Client) Resources() []mcp.Resource {
	c.t.Helper()
	return noError(c, "resources/list", c.client.Resources)
}

// ResourceTemplates lists all resource templates.
func (c *Client) ResourceTemplates() []mcp.ResourceTemplate {
	c.t.Helper()
	return noError(c, "resources/templates/list", c.client.ResourceTemplates)
}

// Prompts lists all prompts.
func (c *Client) Prompts() []mcp.Prompt {
	c.t.Helper()
	return noError(c, "prompts/list", c.client.Prompts)
}

// noError returns the result of call. An error fails the test.
func noError[T any](c *Client, method string, call func(context.Context) (T, error)) T {
	c.t.Helper()
	v, err := call(c.t.Context())
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return v
}

// A Notification is a notification of the server.
type Notification struct {
	Method string
	Params json.RawMessage
}

// Next returns the next notification with this method. It waits up to ten seconds, and keeps all
// other notifications.
func (c *Client) Next(method string) Notification {
	const timeout = 10 * time.Second
	c.t.Helper()
	expired := time.After(timeout)
	for {
		c.mu.Lock()
		arrived := c.arrived
		i := slices.IndexFunc(c.received, func(n Notification) bool { return n.Method == method })
		if i >= 0 {
			defer c.mu.Unlock()
			next := c.received[i]
			c.received = slices.Delete(c.received, i, i+1)
			return next
		}
		c.mu.Unlock()
		select {
		case <-arrived:
		case <-expired:
			c.t.Fatalf("the server sent no %s within %v", method, timeout)
		}
	}
}

// Received returns the notifications that Next has not returned.
func (c *Client) Received() []Notification {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.received)
}

// origin returns the position of a panic in a stack trace, such as tools/add.go:18. It is the first
// line after the panic that is not in the runtime.
func origin(stack string) string {
	lines := strings.Split(stack, "\n")
	panicked := false
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic("):
			panicked = true
		case panicked && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "runtime.") && i+1 < len(lines):
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			dir, file := path.Split(place)
			return path.Join(path.Base(dir), file)
		}
	}
	return "unknown position"
}

// An Example is the input of a component and the result that a test expects.
//
// The input of a tool or a prompt, and the output of a tool, are JSON: a string is JSON text, and
// any other value is encoded. Prefer Go values, so that renaming a field also renames it in the
// test. Use JSON text for input that no Go value encodes to, such as a missing field or a wrong
// type.
type Example struct {
	Name  string // for [testing.T.Run]
	Input any    // arguments of a tool or a prompt; the URI of a resource, as a string

	// Output is the result of a tool, or the text of a prompt or resource, which must match.
	// [AnyOutput] accepts any result. So does nil, but readers cannot see whether the output was
	// forgotten.
	Output any

	Error string // a part of the expected error; "" expects success

	// Answers are the user's answers to the questions of a tool, by key: a form as a Go value or
	// JSON text, "decline" or "cancel". The key for [mcp.AskFor] is the name of its type, unless
	// the tool sets another. If it is empty, the client answers as its [Options] say.
	Answers map[string]any
}

// AnyOutput is the Output of an [Example] whose call must succeed, with any result.
type AnyOutput struct{}

// CheckTool calls a tool with the input of an example. It fails t if the result differs. Outputs
// are compared as JSON values: the order of properties and the notation of numbers do not matter.
func (c *Client) CheckTool(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.ToolResult
	if len(e.Answers) > 0 {
		c = connect(c.ctx, t, c.server, Options{Revision: c.Revision, Elicit: e.answer})
	}
	err := c.Call("tools/call", callParams(name, e.Input), &result)
	if err == nil && result.IsError {
		err = fmt.Errorf("%s", result.Text())
	}
	got := cmp.Or(string(result.StructuredContent), result.Text())
	e.check(t, e.call(name), got, err, sameJSON)
}

// answer answers a question of the server.
func (e Example) answer(_ context.Context, question *mcp.Elicitation) (err error) {
	answer, ok := e.Answers[question.Key]
	if !ok {
		return fmt.Errorf("the example has no answer with the key %q", question.Key)
	}
	question.Action = mcp.ActionAccept
	switch text, isText := answer.(string); {
	case text == "decline", text == "cancel":
		question.Action = mcp.Action(text)
	case isText:
		question.Content = json.RawMessage(text)
	default:
		question.Content, err = strictjson.Marshal(answer)
	}
	return err
}

// CheckPrompt gets a prompt with the input of an example. It fails t if the result differs.
func (c *Client) CheckPrompt(t testing.TB, name string, e Example) {
	t.Helper()
	var result mcp.PromptResult
	err := c.Call("prompts/get", callParams(name, e.Input), &result)
	var texts []string
	for _, message := range result.Messages {
		if text, ok := message.Content.(mcp.Text); ok {
			texts = append(texts, text.Text)
		}
	}
	e.check(t, e.call(name), strings.Join(texts, "\n"), err, sameText)
}

// CheckResource reads the URI of an example. It fails t if the result differs.
func (c *Client) CheckResource(t testing.TB, e Example) {
	t.Helper()
	uri := fmt.Sprint(e.Input)
	all, err := c.client.ReadResource(c.t.Context(), uri)
	var texts []string
	for _, contents := range all {
		texts = append(texts, contents.Text)
	}
	e.check(t, uri, strings.Join(texts, "\n"), err, sameText)
}

// call returns the call of an example, for messages: add({"a":2,"b":3}).
func (e Example) call(name string) string {
	input, isText := e.Input.(string)
	if e.Input != nil && !isText {
		encoded, _ := strictjson.Marshal(e.Input) // the call reports the error
		input = string(encoded)
	}
	return name + "(" + strictjson.Clip(input, 200) + ")"
}

// check fails t if a call has another result than the example.
func (e Example) check(t testing.TB, call, got string, err error, same func(got, want string) bool) {
	t.Helper()
	want, acceptsAny := "", false
	switch output := e.Output.(type) {
	case nil, AnyOutput:
		want, acceptsAny = "no error", true
	case string:
		want = output
	default:
		encoded, err := new(strictjson.OutputEncoder).Encode(output)
		if err != nil {
			t.Fatalf("encode the output of example %q: %v", e.Name, err)
		}
		want = string(encoded)
	}
	switch {
	case e.Error != "" && err == nil:
		t.Errorf("%s = %s, want an error that contains %q", call, got, e.Error)
	case e.Error != "" && !strings.Contains(err.Error(), e.Error):
		t.Errorf("%s fails: %v\nwant an error that contains %q", call, err, e.Error)
	case e.Error == "" && err != nil:
		t.Errorf("%s fails: %v\nwant %s", call, err, want)
	case e.Error != "" || acceptsAny || same(got, want):
	case len(got)+len(want) > 120:
		t.Errorf("%s:\ngot  %s\nwant %s", call, got, want)
	default:
		t.Errorf("%s = %s, want %s", call, got, cmp.Or(want, "an empty text"))
	}
}

// callParams returns the params of a call. nil arguments are omitted.
func callParams(name string, arguments any) map[string]any {
	if text, ok := arguments.(string); ok {
		arguments = json.RawMessage(text)
	}
	if arguments == nil {
		return map[string]any{"name": name}
	}
	return map[string]any{"name": name, "arguments": arguments}
}

func sameText(got, want string) bool { return got == want }

// sameJSON reports whether two texts are the same JSON value. If want is not valid JSON, it
// compares the texts.
func sameJSON(got, want string) bool {
	constant, err := schema.Compile([]byte(`{"const":` + want + `}`))
	if err != nil {
		return got == want
	}
	return constant.Validate([]byte(got)) == nil
}
