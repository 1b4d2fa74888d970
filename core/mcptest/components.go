package mcptest

import (
	"encoding/json"

	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// CallTool calls a tool. A result with IsError set is a result; an error of the
// protocol fails the test. Arguments are a Go value or, as a string, JSON text; nil leaves them out.
func (c *Client) CallTool(name string, arguments any) *mcp.ToolResult {
	c.t.Helper()
	var result mcp.ToolResult
	c.must("tools/call", callParams(name, arguments), &result)
	return &result
}

// ReadResource reads a resource.
func (c *Client) ReadResource(uri string) []mcp.ResourceContents {
	c.t.Helper()
	var result struct {
		Contents []mcp.ResourceContents `json:"contents"`
	}
	c.must("resources/read", map[string]any{"uri": uri}, &result)
	return result.Contents
}

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(name string, arguments map[string]string) *mcp.PromptResult {
	c.t.Helper()
	params := map[string]any{"name": name}
	if arguments != nil {
		params["arguments"] = arguments
	}
	var result mcp.PromptResult
	c.must("prompts/get", params, &result)
	return &result
}

// Tools lists all tools, page by page.
func (c *Client) Tools() []mcp.Tool { return list[mcp.Tool](c, "tools/list", "tools") }

// Resources lists all resources, page by page.
func (c *Client) Resources() []mcp.Resource {
	return list[mcp.Resource](c, "resources/list", "resources")
}

// ResourceTemplates lists all resource templates, page by page.
func (c *Client) ResourceTemplates() []mcp.ResourceTemplate {
	return list[mcp.ResourceTemplate](c, "resources/templates/list", "resourceTemplates")
}

// Prompts lists all prompts, page by page.
func (c *Client) Prompts() []mcp.Prompt { return list[mcp.Prompt](c, "prompts/list", "prompts") }

// list follows the pages of a list; field is where in the result the entries are.
func list[T any](c *Client, method, field string) []T {
	c.t.Helper()
	var all []T
	params := map[string]any{}
	for {
		var page map[string]json.RawMessage
		c.must(method, params, &page)
		var entries []T
		if err := strictjson.Unmarshal(page[field], &entries); err != nil {
			c.t.Fatalf("%s: reading %s: %v", method, field, err)
		}
		all = append(all, entries...)
		cursor, more := page["nextCursor"]
		if !more {
			return all
		}
		params["cursor"] = cursor
	}
}
