package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// A Tool describes a tool to clients. Fields that the revision of a client does not have are not
// sent.
type Tool struct {
	// Name identifies the tool: 1 to 128 letters, digits, '_', '-' and '.'.
	Name string `json:"name"`
	// Title is the name that people see. If it is empty, clients show Name.
	Title string `json:"title,omitempty"`
	// Description tells the model what the tool does and when to use it.
	Description string `json:"description,omitempty"`

	// InputSchema describes the arguments, an object. Arguments that it does not allow never reach
	// the handler. nil allows any object.
	InputSchema json.RawMessage `json:"inputSchema"`
	// OutputSchema describes the structured content. Before 2026-07-28 it is sent only if it
	// describes an object, before 2025-06-18 never.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Meta        Meta             `json:"_meta,omitempty"`

	// Scopes are the OAuth scopes that the caller's token must have, or its API key if that has
	// scopes. Other API keys and stdio bypass them. They are not sent to clients.
	Scopes []string `json:"-"`
}

// ToolAnnotations are hints about the behaviour of a tool, for clients that warn or ask the user. A
// nil hint has the protocol's default.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // changes nothing; false if nil
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // may destroy data; true if nil
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // repeats do nothing; false if nil
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // reaches other systems; true if nil
}

// forRevision returns t without the fields that revision r does not have. Before 2025-06-18, the
// title is an annotation.
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

// A ToolHandler runs a tool. The arguments have been validated against the input schema; do not
// modify them. An error becomes a result with IsError set, which the model can read. These fail the
// request instead: a [*jsonrpc.Error] that is not wrapped, a [jsonrpc.Code], a [*ScopeError] and,
// in revision 2026-07-28, a [*CannotAskError]. The result is not modified, so a handler may return
// it again. [CallFrom] returns the call of the context.
type ToolHandler func(ctx context.Context, arguments json.RawMessage) (*ToolResult, error)

// A ToolResult is the result of a tool, as a handler returns it and a client receives it.
type ToolResult struct {
	// Content is what the model reads. If it is empty, the structured content is also sent as text.
	Content []Content
	// StructuredContent is what programs read. It must match the output schema, if the tool has
	// one. nil means that there is none.
	StructuredContent json.RawMessage
	// IsError means that the tool failed. Content says why, so that the model can correct its call.
	IsError bool
	// Meta is additional data for the client.
	Meta Meta
}

// TextResult returns a result with one text block.
func TextResult(text string) *ToolResult { return &ToolResult{Content: []Content{Text{Text: text}}} }

// ErrorResult returns a result with IsError set and the text of err.
func ErrorResult(err error) *ToolResult {
	return &ToolResult{Content: []Content{Text{Text: err.Error()}}, IsError: true}
}

// Text returns the text blocks, joined by newlines, or the structured content if there are no
// blocks.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return string(r.StructuredContent)
	}
	return textOf(r.Content)
}

// Decode decodes the structured content into v, a pointer. It returns an error if there is none.
func (r *ToolResult) Decode(v any) error {
	if r.StructuredContent == nil {
		return errors.New("the result has no structured content")
	}
	return strictjson.Unmarshal(r.StructuredContent, v)
}

// MarshalJSON encodes the result as a server sends it: if Content is empty, the structured content
// is also a text block.
func (r ToolResult) MarshalJSON() ([]byte, error) {
	dst, err := r.appendMembers([]byte{'{'}, false)
	if err == nil && len(r.Meta) > 0 {
		dst, err = appendMeta(dst, r.Meta, nil)
	}
	return append(dst, '}'), err
}

// appendMembers appends the members of the result except _meta. It is the only encoder of results.
// isValid means that the structured content is known to be valid JSON.
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

// appendMeta appends the _meta of a result. It adds info as the serverInfo, unless info is nil or
// meta has one.
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

// UnmarshalJSON decodes the result of a server. Blocks of unknown types become [UnknownContent].
func (r *ToolResult) UnmarshalJSON(raw []byte) error {
	if strictjson.First(raw) == 'n' {
		return errors.New("must be an object, got null")
	}
	var wire struct {
		Content           contents        `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError"`
		Meta              Meta            `json:"_meta"`
	}
	err := strictjson.Unmarshal(raw, &wire)
	*r = ToolResult{wire.Content, wire.StructuredContent, wire.IsError, wire.Meta}
	return err
}

// An OperatorError is an error whose text is for operators, because it may name hosts, users or
// files. If a handler returns one, even wrapped, the log gets its text, and remote clients get that
// of ForClient. Clients on stdio get the whole error. The type Error of package eventlog, for the
// errors of an event log, is an OperatorError.
type OperatorError interface {
	error
	// ForClient returns the text for a remote client. request is [Call.RequestID], with which
	// operators find the whole error in the log, so the text should have it.
	ForClient(request string) string
}

// A ScopeError means that the caller does not have the scopes that a call needs. A handler may
// return one too, for scopes that depend on the arguments. Over HTTP, the client gets status 403
// and a challenge that names the scopes.
type ScopeError struct {
	Needed []string // all scopes of the call
}

func (e *ScopeError) Error() string {
	return "the caller needs the scopes " + strings.Join(e.Needed, " ")
}

// Unwrap returns the error response, a [*jsonrpc.Error].
func (e *ScopeError) Unwrap() error { return jsonrpc.Errorf(jsonrpc.InvalidRequest, "%v", e) }
