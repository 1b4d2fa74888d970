package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// CallTool calls a tool. arguments must encode to a JSON object; nil omits them, and a
// [json.RawMessage] is sent unchanged. A result with IsError set is not a Go error.
func (c *Client) CallTool(ctx context.Context, name string, arguments any, options ...CallOption) (*mcp.ToolResult, error) {
	encoded, err := encodeObject(arguments)
	if err != nil {
		return nil, fmt.Errorf("invalid arguments: %w", err)
	}
	call := func() (json.RawMessage, error) {
		r := &request{method: "tools/call"}
		r.setParam("name", strictjson.AppendString(nil, name))
		if encoded != nil {
			r.setParam("arguments", encoded)
		}
		return c.do(ctx, r, options)
	}
	raw, err := call()
	if errors.Is(err, mcp.HeaderMismatch) {
		// The tool repeats arguments in headers. Tools fetches which ones.
		if _, listErr := c.Tools(ctx); listErr == nil {
			raw, err = call()
		}
	}
	if err != nil {
		return nil, err
	}
	var result mcp.ToolResult
	if err := result.UnmarshalJSON(raw); err != nil { // faster than strictjson.Unmarshal
		return nil, &ConnectionError{fmt.Errorf("read the result of tools/call: %w", err)}
	}
	delete(result.Meta, mcp.MetaServerInfo) // see Server
	if len(result.Meta) == 0 {
		result.Meta = nil
	}
	return &result, nil
}

// Tools lists all tools. Over HTTP, from revision 2026-07-28 on, it omits tools with an invalid
// x-mcp-header, as the protocol requires.
func (c *Client) Tools(ctx context.Context) ([]mcp.Tool, error) {
	all, err := listAll[mcp.Tool](ctx, c, "tools/list", "tools")
	return c.transport.FilterTools(&c.session.Load().Session, all), err
}

// Tool returns the tool with this name, or a [*NotFoundError].
func (c *Client) Tool(ctx context.Context, name string) (*mcp.Tool, error) {
	all, err := c.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range all {
		if t.Name == name {
			return &t, nil
		}
		names = append(names, t.Name)
	}
	return nil, &NotFoundError{Kind: "tool", Name: name, Available: names}
}

// A NotFoundError means that a server does not have a tool or prompt.
type NotFoundError struct {
	Kind      string // tool or prompt
	Name      string
	Available []string // names that the server has
	Hint      string   // how to list them, if the error does not name all; may be empty
}

// Error names the available names that share the most pairs of letters with the wanted one.
func (e *NotFoundError) Error() string {
	shared := map[string]int{}
	for _, name := range e.Available {
		for i := range max(0, min(len(e.Name), 64)-1) {
			if strings.Contains(name, e.Name[i:i+2]) {
				shared[name]++
			}
		}
	}
	nearest := slices.SortedStableFunc(slices.Values(e.Available), func(a, b string) int { return shared[b] - shared[a] })
	nearest = nearest[:min(len(nearest), 8)]
	available := strictjson.Clip(strings.Join(nearest, ", "), 4<<10)
	if more := len(e.Available) - len(nearest); more > 0 {
		available = strings.TrimSuffix(fmt.Sprintf("%s and %d more; %s", available, more, e.Hint), "; ")
	}
	return fmt.Sprintf("%s %q not found; the server has %s", e.Kind, short(e.Name), cmp.Or(available, "no "+e.Kind+"s"))
}

// Resources lists all resources.
func (c *Client) Resources(ctx context.Context) ([]mcp.Resource, error) {
	return listAll[mcp.Resource](ctx, c, "resources/list", "resources")
}

// ResourceTemplates lists all resource templates.
func (c *Client) ResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return listAll[mcp.ResourceTemplate](ctx, c, "resources/templates/list", "resourceTemplates")
}

// Prompts lists all prompts.
func (c *Client) Prompts(ctx context.Context) ([]mcp.Prompt, error) {
	return listAll[mcp.Prompt](ctx, c, "prompts/list", "prompts")
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string, options ...CallOption) ([]mcp.ResourceContents, error) {
	var result struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}
	err := c.Request(ctx, "resources/read", map[string]string{"uri": uri}, &result, options...)
	return result.Contents, err
}

// GetPrompt returns a prompt with its arguments filled in.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, options ...CallOption) (*mcp.PromptResult, error) {
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	result := new(mcp.PromptResult)
	if err := c.Request(ctx, "prompts/get", params, result, options...); err != nil {
		return nil, err
	}
	return result, nil
}

// Ping checks that the server answers. In stateless revisions, which have no ping, it sends
// server/discover.
func (c *Client) Ping(ctx context.Context) error {
	if c.session.Load().IsStateless() {
		return c.Request(ctx, "server/discover", nil, nil)
	}
	return c.Request(ctx, "ping", nil, nil)
}

// listAll decodes all entries of a list. It skips invalid entries.
func listAll[T any](ctx context.Context, c *Client, method, field string) ([]T, error) {
	entries, err := c.Entries(ctx, method, field)
	if entries == nil || err != nil {
		return nil, err
	}
	all := make([]T, 0, len(entries))
	for i, entry := range entries {
		var one T
		if err := strictjson.Unmarshal(entry, &one); err != nil {
			c.o.Logger.Warn("skipped an invalid list entry", "method", method, "entry", i, "error", err)
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

// Entries returns all entries of a list as the server sent them. Use it for members that the types
// of package mcp do not have. method is the method of the list, such as tools/list, and field the
// field of the result with the entries, such as tools. It returns nil if the server does not
// declare the capability.
func (c *Client) Entries(ctx context.Context, method, field string) ([]json.RawMessage, error) {
	capability, _, _ := strings.Cut(method, "/")
	if !c.Capabilities().Has(capability) {
		return nil, nil
	}
	all, size := []json.RawMessage{}, 0
	r := &request{method: method}
	for range maxPages {
		raw, err := c.do(ctx, r, nil)
		if method == "resources/templates/list" && errors.Is(err, jsonrpc.MethodNotFound) {
			return nil, nil // many servers have resources but no templates
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxList {
			return nil, &ConnectionError{limitf("%s has more than %d bytes", method, maxList)}
		}
		page := strictjson.Member(raw, field)
		if strictjson.First(page) != '[' {
			return nil, &ConnectionError{fmt.Errorf("the result of %s has no list %s", method, field)}
		}
		err = strictjson.Elements(page, func(entry []byte) error {
			if len(all) == maxEntries {
				return &ConnectionError{limitf("%s has more than %d entries", method, maxEntries)}
			}
			all = append(all, entry)
			return nil
		})
		if err != nil {
			return nil, err
		}
		cursor := strictjson.Member(raw, "nextCursor")
		if cursor == nil || strictjson.First(cursor) == 'n' {
			if c.o.Listed != nil {
				c.o.Listed(method, all)
			}
			return all, nil
		}
		r = &request{method: method}
		r.setParam("cursor", cursor)
	}
	return nil, &ConnectionError{limitf("%s has more than %d pages", method, maxPages)}
}
