package mcp

import (
	"context"
	"fmt"
	"slices"

	"github.com/petrock/petrock/core/jsonrpc"
)

// CompletePrompt sets the completer of the arguments of a prompt. It replaces an earlier one and
// the completion of enums. It returns an error if the server has no such prompt.
func (s *Server) CompletePrompt(name string, c Completer) error {
	p, ok := s.prompts.get(s.o.NamePrefix + name)
	if !ok {
		return fmt.Errorf("set completer: unknown prompt %q", name)
	}
	s.setCompleter(p.input, c)
	return nil
}

// CompleteResource sets the completer of the variables of a resource template, as
// [Server.CompletePrompt] does for a prompt.
func (s *Server) CompleteResource(uriTemplate string, c Completer) error {
	t, ok := s.templates.get(uriTemplate)
	if !ok {
		return fmt.Errorf("set completer: unknown resource template %q", uriTemplate)
	}
	s.setCompleter(t.input, c)
	return nil
}

// setCompleter sets a completer and declares the capability. s.mu guards the completers of all
// components.
func (s *Server) setCompleter(in *textInput, c Completer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.complete = c
	s.declared["completions"] = true
}

// completeParams are the params of completion/complete.
type completeParams struct {
	Ref struct {
		Type string `json:"type"`
		Name string `json:"name"`
		URI  string `json:"uri"`
	} `json:"ref"`
	Argument *struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"argument"`
	Context struct {
		Arguments map[string]string `json:"arguments"`
	} `json:"context"`
}

// A completion is the result of completion/complete.
type completion struct {
	Values  []string `json:"values"`
	Total   int      `json:"total"`
	HasMore bool     `json:"hasMore"`
}

// completeArgument suggests values for an argument. An argument without a completer has no
// suggestions; an unknown argument is an error. The completer runs without the lock and without the
// turn to read, because it may take long.
func (s *Server) completeArgument(ctx context.Context, c *Call, p *completeParams) (any, error) {
	if p.Argument == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "completion/complete needs an argument with its name and value")
	}
	completer, names, err := s.completerOf(ctx, c, p)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(names, p.Argument.Name) {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown argument %q; use one of %q", short(p.Argument.Name), names)
	}
	values := []string{}
	if completer != nil {
		c.req.Release()
		found, err := completer(ctx, p.Argument.Name, p.Argument.Value, p.Context.Arguments)
		if err != nil {
			return nil, err
		}
		values = append(values, found...) // not nil, which would be null in JSON
	}
	const limit = 100
	sent := values[:min(len(values), limit)]
	return map[string]completion{"completion": {Values: sent, Total: len(values), HasMore: len(values) > limit}}, nil
}

// completerOf returns the completer of a reference, which may be nil, and the names of its
// arguments.
func (s *Server) completerOf(ctx context.Context, c *Call, p *completeParams) (Completer, []string, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch p.Ref.Type {
	case "ref/prompt":
		found, ok := s.prompts.get(p.Ref.Name)
		if !ok {
			return nil, nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown prompt %q", short(p.Ref.Name))
		}
		return found.input.complete, found.names, checkScopes(ctx, found.Scopes)
	case "ref/resource":
		found, ok := s.templates.get(p.Ref.URI)
		if !ok || !c.canSee(found) {
			return nil, nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown resource template %q", short(p.Ref.URI))
		}
		return found.input.complete, found.uri.Variables(), checkScopes(ctx, found.Scopes)
	}
	return nil, nil, jsonrpc.Errorf(jsonrpc.InvalidParams, `a reference must be of type "ref/prompt" or "ref/resource", got %q`, short(p.Ref.Type))
}
