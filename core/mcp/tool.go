package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/internal/jsonschema"
	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp/transport"
	"github.com/petrock/petrock/core/strictjson"
)

// A Tool describes a tool to clients.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema"` // of an object; nil allows any object
	// OutputSchema describes the structured content. Before 2026-07-28 it is sent only if it describes an
	// object, before 2025-06-18 never.
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty"`
	Annotations  *ToolAnnotations `json:"annotations,omitempty"`
	Icons        []Icon           `json:"icons,omitempty"`
	Meta         Meta             `json:"_meta,omitempty"`

	// Scopes are the OAuth scopes that the caller's token must have, or its API key if that has scopes.
	// Other API keys and stdio bypass them. They are not sent to clients.
	Scopes []string `json:"-"`
}

// ToolAnnotations are hints about the behaviour of a tool, for clients that warn or ask the user. A
// nil hint has the protocol's default.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // false if nil
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // true if nil
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // false if nil
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // true if nil
}

// A ToolHandler runs a tool. The arguments have been validated against the input schema; do not modify
// them. An error becomes a result with IsError set, which the model can read. A [*jsonrpc.Error] or a
// [jsonrpc.Code] fails the request instead. The result is not modified, so a handler may return it
// again. [CallFrom] returns the call of the context.
type ToolHandler func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error)

// A ToolResult is the result of a tool. If Content is empty, the structured content is also sent as
// text.
type ToolResult struct {
	Content           []Content
	StructuredContent json.RawMessage // nil if there is none
	IsError           bool
	Meta              Meta
}

// TextResult returns a result with one text block.
func TextResult(text string) *ToolResult { return &ToolResult{Content: []Content{Text{Text: text}}} }

// ErrorResult returns a result with IsError set and the text of err.
func ErrorResult(err error) *ToolResult {
	return &ToolResult{Content: []Content{Text{Text: err.Error()}}, IsError: true}
}

// Text returns the text blocks, joined by newlines, or the structured content if there are no blocks.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return string(r.StructuredContent)
	}
	return textOf(r.Content)
}

func textOf(blocks []Content) string {
	text := ""
	for _, block := range blocks {
		if t, ok := block.(Text); ok {
			if text != "" {
				text += "\n"
			}
			text += t.Text
		}
	}
	return text
}

// Decode decodes the structured content into v, a pointer.
func (r *ToolResult) Decode(v any) error {
	if r.StructuredContent == nil {
		return errors.New("the result has no structured content")
	}
	return strictjson.Unmarshal(r.StructuredContent, v)
}

// appendMembers appends the members of the result except _meta. It is the only encoder of results.
func (r *ToolResult) appendMembers(dst []byte, isValid bool) ([]byte, error) {
	if r.StructuredContent != nil && !isValid {
		if err := strictjson.Check(r.StructuredContent); err != nil {
			return dst, fmt.Errorf("structuredContent: %w", err)
		}
	}
	var err error
	if len(r.Content) == 0 && r.StructuredContent != nil {
		dst = append(dst, `"content":[{"type":"text","text":`...)
		dst = append(strictjson.AppendString(dst, r.StructuredContent), '}', ']')
	} else if dst, err = appendContent(append(dst, `"content":`...), r.Content); err != nil {
		return dst, err
	}
	if r.StructuredContent != nil {
		dst = append(append(dst, `,"structuredContent":`...), r.StructuredContent...)
	}
	if r.IsError {
		dst = append(dst, `,"isError":true`...)
	}
	return dst, nil
}

func (r ToolResult) MarshalJSON() ([]byte, error) {
	dst, err := r.appendMembers([]byte{'{'}, false)
	if err == nil && len(r.Meta) > 0 {
		dst, err = appendMeta(dst, r.Meta, nil)
	}
	return append(dst, '}'), err
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

// appendMeta appends the _meta of a result. It adds info as the serverInfo, unless info is nil or meta
// has one.
func appendMeta(dst []byte, meta Meta, info json.RawMessage) ([]byte, error) {
	raw := json.RawMessage(`{}`)
	if len(meta) > 0 {
		var err error
		if raw, err = strictjson.Marshal(meta); err != nil {
			return dst, fmt.Errorf("_meta: %w", err)
		}
	}
	dst = append(append(dst, `,"_meta":`...), raw[:len(raw)-1]...)
	if _, has := meta[MetaServerInfo]; info != nil && !has {
		dst = strictjson.AppendMember(dst, MetaServerInfo, info)
	}
	return append(dst, '}'), nil
}

func (r *ToolResult) UnmarshalJSON(raw []byte) error {
	*r = ToolResult{}
	if strictjson.First(raw) != '{' {
		return fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	return strictjson.Object(raw, func(key, value []byte) error {
		var err error
		switch string(key) {
		case "content":
			r.Content, err = decodeContents(value)
		case "structuredContent":
			r.StructuredContent = slices.Clone(value)
		case "isError":
			err = strictjson.Unmarshal(value, &r.IsError)
		case "_meta":
			err = strictjson.Unmarshal(value, &r.Meta)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		return nil
	})
}

func (t Tool) forRevision(r Revision) Tool {
	if r < Revision20250618 {
		if t.Title != "" && (t.Annotations == nil || t.Annotations.Title == "") {
			annotations := *cmp.Or(t.Annotations, &ToolAnnotations{})
			annotations.Title = t.Title
			t.Annotations = &annotations
		}
		t.OutputSchema = nil
	}
	dropNewer(r, &t.Title, &t.Icons, &t.Meta)
	if r < Revision20250326 {
		t.Annotations = nil
	}
	return t
}

// render makes r the result of the call, converted for the revision of its client. Structured content
// must be an object before 2026-07-28, and is not supported before 2025-06-18.
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

type tool struct {
	Tool
	descriptionCache
	pace            pace.Pace
	input, output   *jsonschema.Schema // output is nil if none is declared
	headerArguments []transport.HeaderArgument
	handler         ToolHandler
}

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
	if made.headerArguments, err = transport.HeaderArguments(t.InputSchema); err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	if t.OutputSchema != nil {
		if made.output, err = jsonschema.Compile(t.OutputSchema); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return made, checkEncodable(made)
}

// callTool validates the arguments of a call and runs the handler of the tool. newCall has read the
// params.
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
	c.req.ReleaseUnlessQuick(&t.pace)
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

func isProtocolError(err error) bool {
	_, isError := errors.AsType[*jsonrpc.Error](err)
	_, isCode := errors.AsType[jsonrpc.Code](err)
	return isError || isCode
}

func (t *tool) checkOutput(result *ToolResult) error {
	if result.StructuredContent == nil {
		return fmt.Errorf("the tool %s has an output schema but returned no structured content", t.Name)
	}
	if err := t.output.Validate(result.StructuredContent); err != nil {
		return fmt.Errorf("the result of the tool %s does not match its output schema:\n%w", t.Name, err)
	}
	return nil
}

// A ScopeError means that the caller's token does not have the scopes that a call needs. A handler may
// return one too.
type ScopeError struct {
	Needed []string // all scopes of the call
}

func (e *ScopeError) Error() string {
	return "the call needs a token with the scopes " + strings.Join(e.Needed, " ")
}

// Unwrap returns the error response.
func (e *ScopeError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", e) }

func checkScopes(ctx context.Context, needed []string) error {
	if len(needed) > 0 && !auth.From(ctx).May(needed...) {
		return &ScopeError{needed}
	}
	return nil
}

// ToolScopes returns the scopes of all tools, by name.
func (s *Server) ToolScopes() map[string][]string {
	all := map[string][]string{}
	s.tools.find(func(t *tool) bool {
		all[t.Name] = t.Scopes
		return false
	})
	return all
}

// RemoteScopes returns the scopes of all tools, resources, resource templates and prompts that remote
// clients can see, by name.
func (s *Server) RemoteScopes() map[string][]string {
	all := s.ToolScopes()
	add := func(name string, local bool, scopes []string) bool {
		if !local {
			all[name] = slices.Concat(all[name], scopes)
		}
		return false
	}
	s.resources.find(func(r *resource) bool { return add(r.Name, r.Local, r.Scopes) })
	s.templates.find(func(t *template) bool { return add(t.Name, t.Local, t.Scopes) })
	s.prompts.find(func(p *prompt) bool { return add(p.Name, false, p.Scopes) })
	return all
}
