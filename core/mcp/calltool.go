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
	if made.input, err = compileInput(t.InputSchema); err != nil {
		return nil, err
	}
	if made.headerArguments, err = HeaderArguments(t.InputSchema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if t.OutputSchema != nil {
		if made.output, err = schema.Compile(string(t.OutputSchema)); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return made, encodable(made)
}

// callTool checks the arguments of a call and runs the handler of the tool. newCall has read the params.
func (s *Server) callTool(ctx context.Context, c *Call) (any, error) {
	switch strictjson.First(c.target) {
	case '"':
	case 0, 'n':
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "tools/call needs the name of a tool")
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "invalid params of tools/call: name: must be a string, got %s", strictjson.Describe(c.target))
	}
	t, ok := s.tools.get(c.Target)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown tool %q: tools/list names those there are", short(c.Target))
	}
	if len(t.Scopes) > 0 {
		if err := checkScopes(ctx, t.Scopes); err != nil {
			return nil, err
		}
	}
	switch strictjson.First(c.arguments) {
	case '{':
	case 0, 'n':
		c.arguments = json.RawMessage(`{}`)
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the arguments of %s must be an object, got %s", t.Name, strictjson.Describe(c.arguments))
	}
	if err := t.input.Validate(c.arguments); err != nil {
		return ErrorResult(fmt.Errorf("invalid arguments for %s:\n%w", t.Name, err)), nil
	}
	began := t.pace.begin(c)
	result, err := t.handler(ctx, c.arguments)
	t.pace.end(c, began)
	switch {
	case err != nil && isProtocolError(err):
		return nil, err
	case err != nil:
		return ErrorResult(err), nil
	case result == nil:
		result = &ToolResult{}
	}
	if t.output == nil || result.IsError {
		return result, nil
	}
	if err := t.checkOutput(c, result); err != nil {
		// The tool has run, so the model should learn what is wrong with its result.
		Logger(ctx).Error("a tool returned an invalid result", "tool", t.Name, "error", err)
		return ErrorResult(err), nil
	}
	return result, nil
}

// isProtocolError reports whether an error of a handler fails the request itself.
func isProtocolError(err error) bool {
	_, isError := errors.AsType[*jsonrpc.Error](err)
	_, isCode := errors.AsType[jsonrpc.Code](err)
	return isError || isCode
}

// checkOutput validates the structured content of a result against the output schema.
func (t *tool) checkOutput(c *Call, result *ToolResult) error {
	if result.StructuredContent == nil {
		return fmt.Errorf("the tool %s declares an output schema and returned no structured content", t.Name)
	}
	err := t.output.Validate(result.StructuredContent)
	if err == nil {
		c.checked = result.StructuredContent
		return nil
	}
	hint := ""
	if strings.Contains(err.Error(), "must be an array, got null") {
		hint = "\n(a nil slice is null in JSON: return an empty one)"
	}
	return fmt.Errorf("the tool %s returned what its output schema does not allow:\n%w%s", t.Name, err, hint)
}
