package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// callTool validates the arguments of a call and runs the handler of the tool. newCall has read the
// params. An error of the model, such as invalid arguments, is a result with IsError set; an error
// of the client, such as an unknown tool, fails the request.
func (s *Server) callTool(ctx context.Context, c *Call) (any, error) {
	t, ok := s.tools.get(c.Target)
	if !ok {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown tool %q; see tools/list", short(c.Target))
	}
	if err := checkScopes(ctx, t.Scopes); err != nil {
		return nil, err
	}
	switch strictjson.First(c.arguments) {
	case '{':
	case 0, 'n':
		c.arguments = json.RawMessage(`{}`)
	default:
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the arguments of %s must be an object, got %s", t.Name, strictjson.Describe(c.arguments))
	}
	if err := t.input.ValidateChecked(c.arguments); err != nil {
		return ErrorResult(fmt.Errorf("invalid arguments for %s:\n%w", t.Name, err)), nil
	}
	// A quick tool runs on the goroutine that reads, which makes pipelined calls 1.5 to 2 times as
	// fast in petrock's own benchmark. See turn.go of package peer for how it works.
	c.releaseUnlessQuick(&t.pace)
	result, err := t.handler(ctx, c.arguments)
	switch {
	case err != nil && isProtocolError(err):
		return nil, err
	case err != nil:
		return ErrorResult(c.forClient(err)), nil
	case result == nil:
		result = &ToolResult{}
	}
	if t.output == nil || result.IsError {
		return result, nil
	}
	if err := t.checkOutput(result); err != nil {
		// The tool has run, so the model should see why its result is invalid.
		Logger(ctx).Error("tool returned an invalid result", "tool", t.Name, "error", err)
		return ErrorResult(err), nil
	}
	c.validated = true
	return result, nil
}

// isProtocolError reports whether an error of a tool fails the request instead of becoming a
// result. A wrapped error response is an ordinary cause, such as one from a server that the tool
// called.
func isProtocolError(err error) bool {
	_, isResponse := err.(*jsonrpc.Error)
	_, hasCode := errors.AsType[jsonrpc.Code](err)
	_, lacksScope := errors.AsType[*ScopeError](err)
	cannotAsk, ok := errors.AsType[*CannotAskError](err)
	return isResponse || hasCode || lacksScope || ok && cannotAsk.revision.stateless()
}

// checkOutput returns an error if a result does not match the output schema.
func (t *tool) checkOutput(result *ToolResult) error {
	if result.StructuredContent == nil {
		return fmt.Errorf("the tool %s has an output schema but returned no structured content", t.Name)
	}
	if err := t.output.Validate(result.StructuredContent); err != nil {
		return fmt.Errorf("the result of the tool %s does not match its output schema:\n%w", t.Name, err)
	}
	return nil
}

// render makes r the result of the call, converted for the revision of its client. Structured
// content must be an object before 2026-07-28, and is not supported before 2025-06-18; then it is
// sent as text. render copies r only if it must change it.
func (r *ToolResult) render(c *Call) (any, error) {
	if r == nil {
		r = &ToolResult{}
	}
	blocks, err := renderContent(r.Content, c.Revision)
	if err != nil {
		return nil, fmt.Errorf("the result of %s: %w", c.Target, err)
	}
	meta := c.resultMeta(r.Meta)
	supported := c.Revision >= Revision20260728 || c.Revision >= Revision20250618 && strictjson.First(r.StructuredContent) == '{'
	if c.Revision < Revision20251125 || !supported || len(meta) > len(r.Meta) {
		r = &ToolResult{Content: blocks, StructuredContent: r.StructuredContent, IsError: r.IsError, Meta: meta}
	}
	if !supported && r.StructuredContent != nil {
		if len(blocks) == 0 {
			r.Content = []Content{Text{Text: string(r.StructuredContent)}}
		}
		r.StructuredContent = nil
	}
	c.result = r
	c.validated = c.validated && c.via.server.o.Hook == nil // a hook may have changed the result
	return (*toolAnswer)(c), nil
}

// A toolAnswer is the answer to a call of a tool: the result of the call for the revision of its
// client. It is a Call, so it costs no allocation.
type toolAnswer Call

// AppendJSON implements [jsonrpc.Appender].
func (a *toolAnswer) AppendJSON(dst []byte) ([]byte, error) {
	dst = append(dst, '{')
	var info json.RawMessage
	if a.Revision.stateless() {
		dst = append(dst, `"resultType":"complete",`...)
		info = a.via.server.resultInfo
	}
	dst, err := a.result.appendMembers(dst, a.validated)
	if err == nil && (info != nil || len(a.result.Meta) > 0) {
		dst, err = appendMeta(dst, a.result.Meta, info)
	}
	return append(dst, '}'), err
}
