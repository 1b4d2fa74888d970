package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// newTool checks a tool before it is offered to anyone.
func newTool(t Tool, h ToolHandler) (*tool, error) {
	if err := checkName(t.Name); err != nil {
		return nil, err
	}
	if h == nil {
		return nil, errors.New("has no handler")
	}
	if t.InputSchema == nil {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	made := &tool{Tool: t, handler: h}
	var err error
	if made.input, err = schema.Compile(string(t.InputSchema)); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if !made.input.RootIsObject() {
		return nil, errors.New(`input schema: must say "type":"object" at its root: arguments are always an object`)
	}
	if t.OutputSchema == nil {
		return made, nil
	}
	if made.output, err = schema.Compile(string(t.OutputSchema)); err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	if !made.output.RootIsObject() {
		return nil, errors.New(`output schema: must say "type":"object" at its root: revisions up to 2025-11-25 know no other structured content`)
	}
	return made, nil
}

// checkName holds names to what every client accepts.
func checkName(name string) error {
	const most = 128
	if name == "" || len(name) > most {
		return fmt.Errorf("name must have 1 to %d characters, got %d", most, len(name))
	}
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.ContainsRune("_.-", c):
		default:
			return fmt.Errorf("name must consist of letters, digits, '_', '-' and '.', got %q", c)
		}
	}
	return nil
}

type callToolParams struct {
	Name      *string         `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

func (s *Server) callTool(ctx context.Context, c *Call, p *callToolParams) (any, error) {
	if p.Name == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "tools/call needs the name of a tool")
	}
	t, ok := s.tools.get(*p.Name)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown tool %q: tools/list names those there are", *p.Name)
	}
	switch strictjson.First(p.Arguments) {
	case '{':
	case 0, 'n':
		p.Arguments = json.RawMessage(`{}`)
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the arguments of %s must be an object, got %s", t.Name, strictjson.Describe(p.Arguments))
	}
	result, err := t.call(ctx, p.Arguments)
	if err != nil {
		return nil, err
	}
	return result.forRevision(c.Revision), nil
}

// call checks the arguments, runs the handler and checks what it returns.
func (t *tool) call(ctx context.Context, arguments json.RawMessage) (*ToolResult, error) {
	if err := t.input.Validate(arguments); err != nil {
		return ErrorResult(fmt.Errorf("invalid arguments for %s:\n%w", t.Name, err)), nil
	}
	result, err := t.handler(ctx, arguments)
	if err != nil {
		var protocol *jsonrpc.Error
		if errors.As(err, &protocol) {
			return nil, err
		}
		return ErrorResult(err), nil
	}
	if result == nil {
		result = &ToolResult{}
	}
	if t.output == nil || result.IsError {
		return result, nil
	}
	if result.StructuredContent == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "the tool %s declares an output schema and returned no structured content", t.Name)
	}
	if err := t.output.Validate(result.StructuredContent); err != nil {
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "the tool %s returned what its output schema does not allow:\n%v", t.Name, err)
	}
	return result, nil
}
