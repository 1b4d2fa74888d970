package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// CallTool calls a tool. arguments encode to an object; a [json.RawMessage] goes out as it is, and nil is left out. A result with IsError
// set is a result, and no error.
func (c *Client) CallTool(ctx context.Context, name string, arguments any, options ...CallOption) (*ToolResult, error) {
	r := &outgoing{method: "tools/call", name: name, arguments: arguments}
	raw, err := c.do(ctx, r, options)
	if err != nil && c.headersWrong(ctx, err) {
		raw, err = c.do(ctx, &outgoing{method: r.method, name: name, arguments: arguments, progress: r.progress, idle: r.idle, most: r.most, keep: r.keep}, nil)
	}
	if err != nil {
		return nil, err
	}
	result, err := readToolResult(raw)
	if err != nil {
		return nil, &ConnectionError{fmt.Errorf("reading the result of %s: %w", name, err)}
	}
	return result, nil
}

// headersWrong reports whether a call is worth another try because the arguments that headers repeat were not known. It learns them.
func (c *Client) headersWrong(ctx context.Context, err error) bool {
	if !errors.Is(err, HeaderMismatch) {
		return false
	}
	_, err = c.Tools(ctx)
	return err == nil
}

// Tools lists all tools, page by page. Over HTTP those are left out whose schemas break the rules for headers, as revision 2026-07-28 wants it.
func (c *Client) Tools(ctx context.Context) ([]Tool, error) {
	all, err := listAll[Tool](ctx, c, "tools/list", "tools", "tools")
	if err != nil || !c.Revision().stateless() || !c.route.isHTTP() {
		return all, err
	}
	return slices.DeleteFunc(all, func(t Tool) bool {
		found, err := HeaderArguments(t.InputSchema)
		if err != nil {
			c.o.Logger.Warn("a tool is left out", "tool", t.Name, "error", err)
			return true
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if found == nil {
			delete(c.headers, t.Name)
		} else {
			c.headers[t.Name] = found
		}
		return false
	}), nil
}

// Entries lists all entries of a list as the server sends them, page by page. method is that of the list, such as tools/list, and field where
// in a result the entries are, such as tools. A server that does not offer the capability has none.
func (c *Client) Entries(ctx context.Context, method, field, capability string) ([]json.RawMessage, error) {
	all, err := c.pages(ctx, method, field, capability)
	if method == "resources/templates/list" && errors.Is(err, jsonrpc.MethodNotFound) {
		return nil, nil // many servers have resources and no templates
	}
	return all, err
}

// Tool finds a tool by its name. If there is none, the error names those there are.
func (c *Client) Tool(ctx context.Context, name string) (*Tool, error) {
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
	return nil, &NotOfferedError{"tool", name, names}
}

// A NotOfferedError says that a server does not have something.
type NotOfferedError struct {
	Kind  string // such as tool
	Name  string
	There []string // the names that it has
}

func (e *NotOfferedError) Error() string {
	if len(e.There) == 0 {
		return fmt.Sprintf("the server has no %s %q, nor any other", e.Kind, short(e.Name))
	}
	return fmt.Sprintf("the server has no %s %q; it has %s", e.Kind, short(e.Name), strings.Join(e.There, ", "))
}

// Resources lists all resources, page by page.
func (c *Client) Resources(ctx context.Context) ([]Resource, error) {
	return listAll[Resource](ctx, c, "resources/list", "resources", "resources")
}

// ResourceTemplates lists all resource templates, page by page.
func (c *Client) ResourceTemplates(ctx context.Context) ([]ResourceTemplate, error) {
	return listAll[ResourceTemplate](ctx, c, "resources/templates/list", "resourceTemplates", "resources")
}

// Prompts lists all prompts, page by page.
func (c *Client) Prompts(ctx context.Context) ([]Prompt, error) {
	return listAll[Prompt](ctx, c, "prompts/list", "prompts", "prompts")
}

// ReadResource reads a resource.
func (c *Client) ReadResource(ctx context.Context, uri string, options ...CallOption) ([]ResourceContents, error) {
	raw, err := c.do(ctx, &outgoing{method: "resources/read", name: uri}, options)
	if err != nil {
		return nil, err
	}
	var result struct {
		Contents []ResourceContents `json:"contents"`
	}
	err = decodeResult("resources/read", raw, &result)
	return result.Contents, err
}

// GetPrompt fills in a prompt.
func (c *Client) GetPrompt(ctx context.Context, name string, arguments map[string]string, options ...CallOption) (*PromptResult, error) {
	r := &outgoing{method: "prompts/get", name: name}
	if arguments != nil {
		r.arguments = arguments
	}
	raw, err := c.do(ctx, r, options)
	if err != nil {
		return nil, err
	}
	var result PromptResult
	if err := decodeResult("prompts/get", raw, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// CompletePrompt asks for values of an argument of a prompt that begin with prefix. known are arguments that have a value already.
func (c *Client) CompletePrompt(ctx context.Context, prompt, argument, prefix string, known map[string]string) ([]string, error) {
	return c.complete(ctx, map[string]string{"type": "ref/prompt", "name": prompt}, argument, prefix, known)
}

// CompleteResource asks for values of a variable of a resource template that begin with prefix. known are variables that have a value already.
func (c *Client) CompleteResource(ctx context.Context, uriTemplate, variable, prefix string, known map[string]string) ([]string, error) {
	return c.complete(ctx, map[string]string{"type": "ref/resource", "uri": uriTemplate}, variable, prefix, known)
}

func (c *Client) complete(ctx context.Context, ref map[string]string, argument, prefix string, known map[string]string) ([]string, error) {
	params := map[string]any{"ref": ref, "argument": map[string]string{"name": argument, "value": prefix}}
	if len(known) > 0 && c.Revision() >= Revision20250618 {
		params["context"] = map[string]any{"arguments": known}
	}
	var result completeResult
	err := c.Request(ctx, "completion/complete", params, &result)
	return result.Completion.Values, err
}

// Ping asks the server for a sign of life.
func (c *Client) Ping(ctx context.Context) error {
	if c.Revision().stateless() {
		return c.Request(ctx, "server/discover", nil, nil) // there is no ping
	}
	return c.Request(ctx, "ping", nil, nil)
}

// mostPages is how many pages a list may have, should a server never come to its end.
const mostPages = 1000

// listAll reads all entries of a list, page by page. One that cannot be read is left out.
func listAll[T any](ctx context.Context, c *Client, method, field, capability string) ([]T, error) {
	entries, err := c.Entries(ctx, method, field, capability)
	if entries == nil || err != nil {
		return nil, err
	}
	all := make([]T, 0, len(entries))
	for i, entry := range entries {
		var one T
		if err := strictjson.Unmarshal(entry, &one); err != nil {
			c.o.Logger.Warn("an entry of a list is left out", "method", method, "entry", i, "error", err)
			continue
		}
		all = append(all, one)
	}
	return all, nil
}

// pages follows the pages of a list; field is where in a result the entries are. A server that does not offer the capability has none.
func (c *Client) pages(ctx context.Context, method, field, capability string) ([]json.RawMessage, error) {
	if !c.Capabilities().Has(capability) {
		return nil, nil
	}
	all := []json.RawMessage{}
	r := &outgoing{method: method}
	for range mostPages {
		raw, err := c.do(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		var page map[string]json.RawMessage
		if err := strictjson.Unmarshal(raw, &page); err != nil {
			return nil, &ConnectionError{fmt.Errorf("reading the result of %s: %w", method, err)}
		}
		if strictjson.First(page[field]) != '[' {
			return nil, &ConnectionError{fmt.Errorf("the result of %s has no list of %s", method, field)}
		}
		var entries []json.RawMessage
		if err := strictjson.Unmarshal(page[field], &entries); err != nil {
			return nil, &ConnectionError{fmt.Errorf("reading the result of %s: %w", method, err)}
		}
		all = append(all, entries...)
		cursor, more := page["nextCursor"]
		if !more || strictjson.First(cursor) == 'n' {
			return all, nil
		}
		r = &outgoing{method: method, members: func(dst []byte) ([]byte, error) { return appendMember(dst, "cursor", cursor), nil }}
	}
	return nil, &ConnectionError{fmt.Errorf("%s has no end after %d pages", method, mostPages)}
}
