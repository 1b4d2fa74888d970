package mcp

import (
	"context"
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
		"tools/list":               {run: typed(lister(s, &s.tools, "tools")), capability: "tools"},
		"tools/call":               {run: typed(s.callTool), capability: "tools"},
		"resources/list":           {run: typed(lister(s, &s.resources, "resources")), capability: "resources"},
		"resources/templates/list": {run: typed(lister(s, &s.templates, "resourceTemplates")), capability: "resources"},
		"resources/read":           {run: typed(s.readResource), capability: "resources"},
		"resources/subscribe":      {run: typed(s.subscribe), ordered: true, capability: "resources"},
		"resources/unsubscribe":    {run: typed(s.unsubscribe), ordered: true, capability: "resources"},
		"prompts/list":             {run: typed(lister(s, &s.prompts, "prompts")), capability: "prompts"},
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
