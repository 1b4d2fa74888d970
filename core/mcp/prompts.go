package mcp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
)

// getPromptParams are the params of prompts/get.
type getPromptParams struct {
	Arguments map[string]string `json:"arguments"`
}

// getPrompt checks the arguments of a prompt and calls its handler. Errors of the handler fail the
// request, because no model reads the result.
func (s *Server) getPrompt(ctx context.Context, c *Call, p *getPromptParams) (any, error) {
	found, ok := s.prompts.get(c.Target)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown prompt %q; see prompts/list", short(c.Target))
	}
	if err := checkScopes(ctx, found.Scopes); err != nil {
		return nil, err
	}
	if err := found.check(p.Arguments); err != nil {
		return nil, err
	}
	c.releaseUnlessQuick(&found.pace)
	result, err := found.handler(ctx, p.Arguments)
	if result == nil {
		result = &PromptResult{}
	}
	return result, err
}

// check returns an error if a required argument is missing, or one is unknown or invalid.
func (p *prompt) check(arguments map[string]string) error {
	for _, a := range p.Arguments {
		if _, ok := arguments[a.Name]; a.Required && !ok {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "the prompt %s needs the argument %q", p.Name, a.Name)
		}
	}
	for name := range arguments {
		if !slices.Contains(p.names, name) {
			return jsonrpc.Errorf(jsonrpc.InvalidParams, "the prompt %s has no argument %q; it takes: %s", p.Name, short(name), strings.Join(p.names, ", "))
		}
	}
	return p.input.check("arguments for the prompt", p.Name, arguments)
}

// render converts the messages for the revision of the call.
func (p *PromptResult) render(c *Call) (any, error) {
	if p == nil {
		p = &PromptResult{}
	}
	rendered := *p
	rendered.Meta = c.resultMeta(p.Meta)
	rendered.Messages = make([]PromptMessage, len(p.Messages)) // never nil: the field is required
	for i, m := range p.Messages {
		if m.Content == nil {
			return nil, fmt.Errorf("messages[%d] of the prompt %s has no content", i, c.Target)
		}
		rendered.Messages[i] = PromptMessage{m.Role, m.Content.forRevision(c.Revision)}
	}
	return rendered, nil
}
