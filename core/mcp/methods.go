package mcp

import (
	"context"
	"errors"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A method is one row of the table: what a request of that name does, in
// whatever revision it came.
type method struct {
	run func(ctx context.Context, c *Call) (any, error)
	// ordered methods are served in the order of messages; others may run concurrently.
	ordered bool
	// capability is what the server must have offered; "" means nothing.
	capability string
	// in is the era that has the method, if not both do.
	in era
	// cached results tell a client of the stateless era how long they hold.
	cached bool
	// asks allows its handlers to answer with questions in the stateless era.
	asks bool
}

// An era is one of the two ways in which revisions of the protocol work.
type era int

const (
	bothEras era = iota
	handshakeEra
	statelessEra
)

// methodTable lists the methods, but for initialize, which makes a session.
func (s *Server) methodTable() map[string]method {
	return map[string]method{
		"ping":                     {run: ping, ordered: true, in: handshakeEra},
		"server/discover":          {run: s.discover, ordered: true, in: statelessEra, cached: true},
		"subscriptions/listen":     {run: typed(s.listen), ordered: true, in: statelessEra},
		"tools/list":               {run: typed(lister(s, &s.tools, "tools")), capability: "tools", cached: true},
		"tools/call":               {run: s.callTool, capability: "tools", asks: true},
		"resources/list":           {run: typed(lister(s, &s.resources, "resources")), capability: "resources", cached: true},
		"resources/templates/list": {run: typed(lister(s, &s.templates, "resourceTemplates")), capability: "resources", cached: true},
		"resources/read":           {run: typed(s.readResource), capability: "resources", cached: true, asks: true},
		"resources/subscribe":      {run: typed(s.subscribe), ordered: true, capability: "resources", in: handshakeEra},
		"resources/unsubscribe":    {run: typed(s.unsubscribe), ordered: true, capability: "resources", in: handshakeEra},
		"prompts/list":             {run: typed(lister(s, &s.prompts, "prompts")), capability: "prompts", cached: true},
		"prompts/get":              {run: typed(s.getPrompt), capability: "prompts", asks: true},
		"completion/complete":      {run: typed(s.completeArgument), capability: "completions"},
		"logging/setLevel":         {run: typed(s.setLevel), ordered: true, in: handshakeEra},
	}
}

func ping(context.Context, *Call) (any, error) { return struct{}{}, nil }

// typed decodes the params of a method for the function that does its work.
func typed[P any](f func(context.Context, *Call, *P) (any, error)) func(context.Context, *Call) (any, error) {
	decoder := sync.OnceValue(strictjson.NewDecoder[P]) // most methods of a server are never called
	return func(ctx context.Context, c *Call) (any, error) {
		var p P
		if c.Params != nil {
			if err := decoder().Decode(c.Params, &p); err != nil {
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
