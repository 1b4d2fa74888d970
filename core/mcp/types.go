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

// A Prompt describes a prompt template to clients, which offer it to their users.
type Prompt struct {
	// Name identifies the prompt, with the characters of the name of a [Tool].
	Name string `json:"name"`
	// Title is the name that people see. If it is empty, clients show Name.
	Title string `json:"title,omitempty"`
	// Description tells the user what the prompt is for.
	Description string `json:"description,omitempty"`
	// Arguments are the texts that the user fills in. nil takes them from InputSchema.
	Arguments []PromptArgument `json:"arguments,omitempty"`
	Icons     []Icon           `json:"icons,omitempty"`
	Meta      Meta             `json:"_meta,omitempty"`
	Scopes    []string         `json:"-"` // that the caller must have, as for a [Tool]

	// InputSchema validates the arguments: the schema of an object whose properties are strings. It
	// is not sent to clients, but if Arguments is nil, the properties become the arguments. The
	// values of an enum complete an argument, unless [Server.CompletePrompt] sets a completer. nil
	// allows any text.
	InputSchema json.RawMessage `json:"-"`
}

// A PromptArgument is an argument of a prompt; its value is text.
type PromptArgument struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
}

// forRevision returns p without the fields that revision r does not have.
func (p Prompt) forRevision(r Revision) Prompt {
	dropNewer(r, &p.Title, &p.Icons, &p.Meta)
	if r < Revision20250618 {
		p.Arguments = slices.Clone(p.Arguments)
		for i := range p.Arguments {
			p.Arguments[i].Title = ""
		}
	}
	return p
}

// A PromptHandler returns the messages of a prompt. The arguments have been checked: required ones
// are present, none is unknown, and they match the input schema. An error fails the request.
type PromptHandler func(ctx context.Context, arguments map[string]string) (*PromptResult, error)

// A PromptResult holds the messages of a prompt for given arguments. The client adds them to the
// conversation with its model. A handler may return it again, because it is not modified.
type PromptResult struct {
	Description string          `json:"description,omitempty"`
	Messages    []PromptMessage `json:"messages"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// A PromptMessage is one message of a prompt. Content must not be nil.
type PromptMessage struct {
	Role    Role    `json:"role"`
	Content Content `json:"content"`
}

// UnmarshalJSON decodes a message of a server. A block of an unknown type becomes [UnknownContent].
func (m *PromptMessage) UnmarshalJSON(raw []byte) error {
	var wire struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := strictjson.Unmarshal(raw, &wire); err != nil {
		return err
	}
	content, err := decodeContent(wire.Content)
	*m = PromptMessage{wire.Role, content}
	return err
}

// A Resource describes a resource to clients. URI and Name are required. The URI must be absolute,
// and identifies the resource; people see Title or, if that is empty, Name.
type Resource struct {
	URI         string       `json:"uri"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Size        *int64       `json:"size,omitempty"` // in bytes, if known
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
	Cache       Cache        `json:"-"` // of the contents; with Scopes it is never public
	Scopes      []string     `json:"-"` // that the caller must have, as for a [Tool]

	// Local hides the resource from remote clients: only sessions of [Server.Serve], for example
	// over stdio, can see it. HTTP clients cannot.
	Local bool `json:"-"`
}

// forRevision returns res without the fields that revision r does not have.
func (res Resource) forRevision(r Revision) Resource {
	dropNewer(r, &res.Title, &res.Icons, &res.Meta)
	res.Annotations = res.Annotations.forRevision(r)
	return res
}

// A ResourceTemplate describes the resources whose URIs match a template, such as note://{id}. See
// [Server.AddResourceTemplate] for the syntax.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
	Cache       Cache        `json:"-"` // of the contents; with Scopes it is never public
	Scopes      []string     `json:"-"` // that the caller must have, as for a [Tool]
	Local       bool         `json:"-"` // hides it from remote clients, as for a [Resource]

	// InputSchema validates the variables: the schema of an object whose properties are strings. It
	// is not sent to clients. The values of an enum complete a variable, unless
	// [Server.CompleteResource] sets a completer. nil allows any text.
	InputSchema json.RawMessage `json:"-"`
}

// forRevision returns t without the fields that revision r does not have.
func (t ResourceTemplate) forRevision(r Revision) ResourceTemplate {
	dropNewer(r, &t.Title, &t.Icons, &t.Meta)
	t.Annotations = t.Annotations.forRevision(r)
	return t
}

// A ResourceHandler reads a resource. variables holds the values of the template's variables,
// percent-decoded; it is nil for a resource. A value can be any text that the input schema allows,
// including "/" and "..", so open files with [os.Root]. An error fails the request: its text is the
// message of the response, as that of a tool is the text of the result. If the resource does not
// exist, return [NotFound] or no contents.
type ResourceHandler func(ctx context.Context, uri string, variables map[string]string) ([]ResourceContents, error)

// ResourceContents are the contents of a resource, or a part of them: text or a blob. A resource
// with several parts, such as a folder, gives each of them its own URI.
type ResourceContents struct {
	URI      string `json:"uri"`                // defaults to the URI of the request
	MIMEType string `json:"mimeType,omitempty"` // defaults to that of the resource or template
	Text     string `json:"text"`
	Blob     []byte `json:"blob"` // replaces Text unless nil
	Meta     Meta   `json:"_meta,omitempty"`
}

// MarshalJSON encodes either Blob, unless it is nil, or Text, even if it is empty: the protocol
// requires one of them.
func (c ResourceContents) MarshalJSON() ([]byte, error) {
	type fields ResourceContents
	wire := struct {
		fields
		Text *string `json:"text,omitempty"` // may be empty
		Blob *[]byte `json:"blob,omitempty"`
	}{fields: fields(c)}
	if c.Blob != nil {
		wire.Blob = &c.Blob
	} else {
		wire.Text = &c.Text
	}
	return strictjson.Marshal(wire)
}

// ResourceNotFound is the code for a resource that does not exist. Clients of revision 2026-07-28
// get [jsonrpc.InvalidParams] instead, as that revision requires.
const ResourceNotFound jsonrpc.Code = -32002

// NotFound returns the error for a resource that does not exist, for a [ResourceHandler] to return.
// errors.Is(err, ResourceNotFound) recognizes it.
func NotFound(uri string) error {
	data, _ := strictjson.Marshal(map[string]string{"uri": uri}) // strings cannot fail
	return &jsonrpc.Error{Code: ResourceNotFound, Message: fmt.Sprintf("no resource %q", short(uri)), Data: data}
}
