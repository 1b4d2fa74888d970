package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A method is one row of the table: what a request of that name does, in
// whatever revision it came.
type method struct {
	run func(ctx context.Context, c *Call) (any, error)
	// ordered keeps it in the order of messages; others run beside each other.
	ordered bool
	// capability is what the client must have been told of; "" means nothing.
	capability string
}

// methodTable lists the methods that all revisions have in common.
func (s *Server) methodTable() map[string]method {
	return map[string]method{
		"ping":                     {run: ping, ordered: true},
		"tools/list":               {run: typed(s.listTools), capability: "tools"},
		"tools/call":               {run: typed(s.callTool), capability: "tools"},
		"resources/list":           {run: typed(s.listResources), capability: "resources"},
		"resources/templates/list": {run: typed(s.listTemplates), capability: "resources"},
		"resources/read":           {run: typed(s.readResource), capability: "resources"},
		"resources/subscribe":      {run: typed(s.subscribe), ordered: true, capability: "resources"},
		"resources/unsubscribe":    {run: typed(s.unsubscribe), ordered: true, capability: "resources"},
		"prompts/list":             {run: typed(s.listPrompts), capability: "prompts"},
		"prompts/get":              {run: typed(s.getPrompt), capability: "prompts"},
		"completion/complete":      {run: typed(s.completeArgument), capability: "completions"},
		"logging/setLevel":         {run: typed(s.setLevel), ordered: true},
	}
}

func ping(context.Context, *Call) (any, error) { return struct{}{}, nil }

// typed decodes the params of a method for the function that does its work.
func typed[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := strictjson.NewDecoder[P]()
	return func(ctx context.Context, c *Call) (any, error) {
		var p P
		if c.Params != nil {
			if err := decoder.Decode(c.Params, &p); err != nil {
				return nil, paramsError(c.Method, err)
			}
		}
		return f(ctx, c, &p)
	}
}

func paramsError(method string, err error) error {
	var mistyped *strictjson.TypeError
	if errors.As(err, &mistyped) {
		return jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of %s: %v", method, err)
	}
	return err
}

type listParams struct {
	Cursor *string `json:"cursor"`
}

type listToolsResult struct {
	Tools      []Tool `json:"tools"`
	NextCursor string `json:"nextCursor,omitempty"`
}

func (s *Server) listTools(_ context.Context, c *Call, p *listParams) (any, error) {
	page, next, err := s.tools.page(p.Cursor, s.pageSize)
	if err != nil {
		return nil, err
	}
	return listToolsResult{rendered(page, func(t *tool) Tool { return t.forRevision(c.Revision) }), next}, nil
}

type listResourcesResult struct {
	Resources  []Resource `json:"resources"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

func (s *Server) listResources(_ context.Context, c *Call, p *listParams) (any, error) {
	page, next, err := s.resources.page(p.Cursor, s.pageSize)
	if err != nil {
		return nil, err
	}
	return listResourcesResult{rendered(page, func(r *resource) Resource { return r.forRevision(c.Revision) }), next}, nil
}

type listTemplatesResult struct {
	ResourceTemplates []ResourceTemplate `json:"resourceTemplates"`
	NextCursor        string             `json:"nextCursor,omitempty"`
}

func (s *Server) listTemplates(_ context.Context, c *Call, p *listParams) (any, error) {
	page, next, err := s.templates.page(p.Cursor, s.pageSize)
	if err != nil {
		return nil, err
	}
	return listTemplatesResult{rendered(page, func(t *template) ResourceTemplate { return t.forRevision(c.Revision) }), next}, nil
}

type listPromptsResult struct {
	Prompts    []Prompt `json:"prompts"`
	NextCursor string   `json:"nextCursor,omitempty"`
}

func (s *Server) listPrompts(_ context.Context, c *Call, p *listParams) (any, error) {
	page, next, err := s.prompts.page(p.Cursor, s.pageSize)
	if err != nil {
		return nil, err
	}
	return listPromptsResult{rendered(page, func(p *prompt) Prompt { return p.forRevision(c.Revision) }), next}, nil
}

func rendered[From, To any](from []From, render func(From) To) []To {
	to := make([]To, len(from)) // never nil: the field is required
	for i, item := range from {
		to[i] = render(item)
	}
	return to
}

// cancelledParams is what notifications/cancelled carries.
type cancelledParams struct {
	RequestID json.RawMessage `json:"requestId"`
	Reason    string          `json:"reason"`
}
