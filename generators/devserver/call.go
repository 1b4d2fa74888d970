package devserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/core/client"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/terminal"
	"github.com/petrock/petrock/generators/derive"
)

// callLimit is how long a component may take to answer.
const callLimit = time.Minute

// CallInput is what call takes.
type CallInput struct {
	Name      string                     `json:"name"`                // Name of a tool, prompt or resource of the project, or the address of a resource
	Arguments map[string]json.RawMessage `json:"arguments,omitempty"` // What it is given
	Kind      CallKind                   `json:"kind,omitempty"`      // What the name is of; tool, or resource for an address, if it is left out
	Dir       string                     `json:"dir,omitempty"`       // Folder of the project
}

// A CallKind is a kind of component that can be called.
type CallKind string

// The kinds that can be called.
const (
	CallTool     CallKind = "tool"
	CallResource CallKind = "resource"
	CallPrompt   CallKind = "prompt"
)

// Call calls a tool of the project (or reads a resource, or fills in a prompt) in its real server, which is derived and
// built first if need be and runs as a process of its own, for this call alone. Use it to try what was just made.
//
//petrock:hints open-world
func (t *Tools) Call(ctx context.Context, in CallInput) (*mcp.ToolResult, error) {
	if t.options.NoExec {
		return Answer(ctx, nil, errors.New("running code is turned off here; start petrock mcp without --no-exec"))
	}
	program, dir, request, err := t.prepare(ctx, in)
	if err != nil {
		return Answer(ctx, nil, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, fmt.Errorf("%s did not answer within %v, and was stopped", in.Name, callLimit))
	defer cancel()
	server, err := start(ctx, program, dir)
	if err != nil {
		return failed(ctx, err)
	}
	result, err := request(ctx, server)
	server.Close() // so that all that it has to say is said
	if err != nil {
		return failed(ctx, err)
	}
	if said := server.errOut.quoted(); said != "" {
		result.Content = append(shown(result), text(strings.TrimSpace(said))...)
	}
	return result, nil
}

// failed answers with an error. One that ended the call's own context is said too, as the client still waits.
func failed(ctx context.Context, err error) (*mcp.ToolResult, error) {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		ctx, err = context.WithoutCancel(ctx), cause
	}
	return Answer(ctx, nil, err)
}

// shown is the content of a result, as clients are sent it.
func shown(r *mcp.ToolResult) []mcp.Content {
	if len(r.Content) == 0 && r.StructuredContent != nil {
		return text(string(r.StructuredContent))
	}
	return r.Content
}

// A request is what a server is asked.
type request func(context.Context, *child) (*mcp.ToolResult, error)

// prepare builds the server, and finds out what to ask it.
func (t *Tools) prepare(ctx context.Context, in CallInput) (program, dir string, ask request, err error) {
	o, done, err := t.take(ctx, in.Dir)
	if err != nil {
		return "", "", nil, err
	}
	defer done()
	built, err := o.build(ctx, nil)
	if err != nil {
		return "", "", nil, err
	}
	if !built.OK {
		return "", "", nil, built.refusal()
	}
	if in.Arguments == nil {
		in.Arguments = map[string]json.RawMessage{}
	}
	if in.Kind == "" && strings.Contains(in.Name, "://") {
		in.Kind = CallResource
	}
	switch in.Kind {
	case "", CallTool:
		ask = in.tool
	case CallPrompt:
		ask = in.plain("prompts/get", map[string]any{"name": in.Name, "arguments": in.Arguments})
	case CallResource:
		address, err := o.address(ctx, in)
		if err != nil {
			return "", "", nil, err
		}
		ask = in.plain("resources/read", map[string]any{"uri": address})
	}
	o.engine.Step("calling " + in.Name)
	return built.Program, o.engine.Root(), ask, nil
}

// tool calls a tool. If there is none of that name, the error tells those there are.
func (in CallInput) tool(ctx context.Context, server *child) (*mcp.ToolResult, error) {
	result, err := server.CallTool(ctx, in.Name, in.Arguments)
	if answered := (*jsonrpc.Error)(nil); err == nil || !errors.As(err, &answered) {
		return result, err
	}
	_, unknown := server.Tool(ctx, in.Name)
	if missing := (*client.NotFoundError)(nil); errors.As(unknown, &missing) {
		return nil, terminal.Usagef("the project has no tool %q; it has %s (resources and prompts are called with their kind)", in.Name, strings.Join(missing.Available, ", "))
	}
	if unknown != nil {
		return nil, errors.Join(err, unknown)
	}
	return nil, fmt.Errorf("%w%s", err, server.errOut.quoted())
}

// plain asks for something whose result is shown as it is.
func (in CallInput) plain(method string, params map[string]any) request {
	return func(ctx context.Context, server *child) (*mcp.ToolResult, error) {
		result := &mcp.ToolResult{}
		return result, server.Request(ctx, method, params, &result.StructuredContent)
	}
}

// address is where the resource is that is meant by its name and what it is given, or by its address.
func (o *opened) address(ctx context.Context, in CallInput) (string, error) {
	if strings.Contains(in.Name, ":") {
		return in.Name, nil
	}
	listing, err := o.engine.List(ctx)
	if err != nil {
		return "", err
	}
	values := map[string]string{}
	for name, raw := range in.Arguments {
		var value string
		if err := json.Unmarshal(raw, &value); err != nil {
			return "", terminal.Usagef("%s: a resource is given texts, got %s", name, raw)
		}
		values[name] = value
	}
	var names []string
	for _, c := range listing.Components {
		if c.Kind != derive.Resource {
			continue
		}
		if c.Name == in.Name {
			return derive.Expand(c.URI, values)
		}
		names = append(names, c.Name+" ("+c.URI+")")
	}
	return "", terminal.Usagef("the project has no resource %q; it has %s", in.Name, strings.Join(names, ", "))
}
