package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	return cmp.Or(result, &PromptResult{}), err
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
	p = cmp.Or(p, &PromptResult{})
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

// readResource reads a resource and sets the URI and MIME type of contents that lack them.
func (s *Server) readResource(ctx context.Context, c *Call) (any, error) {
	found, variables, err := s.lookUp(ctx, c, c.Target)
	if err != nil {
		return nil, err
	}
	c.cache = Cache{found.cache.TTL, found.cache.Public && len(found.scopes) == 0}
	c.releaseUnlessQuick(&found.pace)
	contents, err := found.handler(ctx, c.Target, variables)
	if err == nil && len(contents) == 0 {
		err = NotFound(c.Target)
	}
	if err != nil && !isProtocolError(err) && !errors.Is(err, ResourceNotFound) {
		// All revisions have this code for it. The message is whole, also around an error response.
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "%v", c.forClient(err))
	}
	if err != nil {
		return nil, err
	}
	rendered := make([]ResourceContents, len(contents))
	for i, part := range contents {
		part.URI, part.MIMEType = cmp.Or(part.URI, c.Target), cmp.Or(part.MIMEType, found.mimeType)
		part.Meta = part.Meta.forRevision(c.Revision)
		rendered[i] = part
	}
	result := map[string]any{"contents": rendered}
	if meta := c.resultMeta(nil); meta != nil {
		result["_meta"] = meta
	}
	return result, nil
}

// lookUp returns the reader of the resource with that URI, or else of the most specific template
// that matches it, of those that the call can see, and the variables of the template. It checks the
// scopes of the caller and the variables.
func (s *Server) lookUp(ctx context.Context, c *Call, uri string) (*reader, map[string]string, error) {
	if r, ok := s.resources.get(uri); ok && c.canSee(r) {
		return &r.reader, nil, checkScopes(ctx, r.Scopes)
	}
	var found *template
	var variables map[string]string
	for t := range s.templates.all() {
		if found != nil && !t.uri.MoreSpecific(found.uri) || !c.canSee(t) {
			continue
		}
		if values, matches := t.uri.Match(uri); matches {
			found, variables = t, values
		}
	}
	if found == nil {
		return nil, nil, NotFound(uri)
	}
	if err := checkScopes(ctx, found.Scopes); err != nil {
		return nil, nil, err
	}
	return &found.reader, variables, found.input.check("variables for the resource template", found.Name, variables)
}

// subscribe notifies the session of changes of a resource from now on.
func (s *Server) subscribe(ctx context.Context, c *Call) (any, error) {
	uri := c.Target
	if _, _, err := s.lookUp(ctx, c, uri); err != nil {
		return nil, err
	}
	if len(uri) > maxSubscribed {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the uri has %d bytes (limit %d for a subscription)", len(uri), maxSubscribed)
	}
	if c.Session.changes.subscribe(uri) {
		if err := c.reserve(subscriptionCost(uri)); err != nil {
			c.Session.changes.unsubscribe(uri)
			return nil, err
		}
	}
	return struct{}{}, nil
}

// unsubscribe ends subscribe. It is no error if there is no subscription.
func (s *Server) unsubscribe(_ context.Context, c *Call) (any, error) {
	if c.Session.changes.unsubscribe(c.Target) {
		_ = c.reserve(-subscriptionCost(c.Target)) // releasing never fails
	}
	return struct{}{}, nil
}

// maxSubscribed is the size limit of a URI to subscribe to, in bytes.
const maxSubscribed = 8 << 10

// subscriptionCost returns the bytes to reserve for a subscription. They exceed its memory, because
// every change of a resource checks all subscriptions.
func subscriptionCost(uri string) int { return 1<<10 + len(uri) }
