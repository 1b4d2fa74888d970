package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/strictjson"
)

// Content is one block of a tool's result or of a prompt's message: a [Text], an [Image], an
// [Audio], an [EmbeddedResource] or a [ResourceLink]. In a [Sampling] it may also be a [ToolUse] or
// a [ToolUseResult]. Other packages cannot implement it. A block that a server does not know is an
// [UnknownContent].
type Content interface {
	json.Marshaler
	forRevision(Revision) Content // converts the block for clients of an older revision
}

// Text is plain text.
type Text struct {
	Text        string       `json:"text"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
}

// An Image is an image file.
type Image struct {
	Data        []byte       `json:"data"` // the contents of the file
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
}

// Audio is a sound file. Clients older than 2025-03-26 get it as an embedded resource.
type Audio struct {
	Data        []byte       `json:"data"` // the contents of the file
	MIMEType    string       `json:"mimeType"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
}

// An EmbeddedResource is a resource with its contents.
type EmbeddedResource struct {
	Resource    ResourceContents `json:"resource"`
	Annotations *Annotations     `json:"annotations,omitempty"`
	Meta        Meta             `json:"_meta,omitempty"`
}

// A ResourceLink refers to a resource that the client may read. Clients older than 2025-06-18 get
// its URI as text.
type ResourceLink struct {
	Resource
}

// A ToolUse is a model's request to use a tool of a [Sampling].
type ToolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
	Meta  Meta            `json:"_meta,omitempty"`
}

// A ToolUseResult is the result of a [ToolUse]. A message that has one must not have other blocks.
type ToolUseResult struct {
	ToolUseID         string          `json:"toolUseId"`
	Content           []Content       `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              Meta            `json:"_meta,omitempty"`
}

// UnknownContent is a block of an unknown type, such as one of a later revision. It is encoded as
// it was received, so a proxy can forward it.
type UnknownContent struct {
	Type string
	Raw  json.RawMessage // the whole block
}

func (c Text) forRevision(r Revision) Content {
	c.Annotations, c.Meta = c.Annotations.forRevision(r), c.Meta.forRevision(r)
	return c
}

func (c Image) forRevision(r Revision) Content {
	c.Annotations, c.Meta = c.Annotations.forRevision(r), c.Meta.forRevision(r)
	return c
}

// forRevision returns an embedded resource for clients that do not know audio.
func (c Audio) forRevision(r Revision) Content {
	if r < Revision20250326 {
		sound := ResourceContents{URI: "embedded:audio", MIMEType: c.MIMEType, Blob: orEmpty(c.Data)}
		return EmbeddedResource{Resource: sound, Annotations: c.Annotations}.forRevision(r)
	}
	c.Annotations, c.Meta = c.Annotations.forRevision(r), c.Meta.forRevision(r)
	return c
}

func (c EmbeddedResource) forRevision(r Revision) Content {
	c.Annotations, c.Meta = c.Annotations.forRevision(r), c.Meta.forRevision(r)
	c.Resource.Meta = c.Resource.Meta.forRevision(r)
	return c
}

// forRevision returns text for clients that do not know links.
func (c ResourceLink) forRevision(r Revision) Content {
	if r < Revision20250618 {
		text := c.Name + ": " + c.URI
		if c.Description != "" {
			text += " (" + c.Description + ")"
		}
		return Text{Text: text, Annotations: c.Annotations.forRevision(r)}
	}
	return ResourceLink{c.Resource.forRevision(r)}
}

func (c ToolUse) forRevision(Revision) Content { return c }

func (c ToolUseResult) forRevision(Revision) Content { return c }

func (c UnknownContent) forRevision(Revision) Content { return c }

// orEmpty returns data, or an empty slice if it is nil. The protocol does not allow null, which is
// the JSON of a nil slice.
func orEmpty(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

// renderContent converts blocks for clients of a revision. It does not modify blocks, and returns
// an error if one is nil.
func renderContent(blocks []Content, r Revision) ([]Content, error) {
	if i := slices.Index(blocks, nil); i >= 0 {
		return nil, fmt.Errorf("content[%d] is nil", i)
	}
	if r >= Revision20251125 {
		return blocks, nil
	}
	rendered := make([]Content, len(blocks))
	for i, block := range blocks {
		rendered[i] = block.forRevision(r)
	}
	return rendered, nil
}

// textOf returns the text blocks, joined by newlines.
func textOf(blocks []Content) string {
	var texts []string
	for _, block := range blocks {
		if t, ok := block.(Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// appendContent appends blocks as an array. It encodes plain text, the most common block, without
// reflection.
func appendContent(dst []byte, blocks []Content) ([]byte, error) {
	dst = append(dst, '[')
	for i, block := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		if text, ok := block.(Text); ok && text.Annotations == nil && text.Meta == nil {
			dst = append(dst, `{"type":"text","text":`...)
			dst = append(strictjson.AppendString(dst, text.Text), '}')
			continue
		}
		raw, err := block.MarshalJSON()
		if err != nil {
			return dst, fmt.Errorf("content[%d]: %w", i, err)
		}
		dst = append(dst, raw...)
	}
	return append(dst, ']'), nil
}

func (c Text) MarshalJSON() ([]byte, error) {
	type fields Text
	return marshalWithType("text", fields(c))
}

func (c Image) MarshalJSON() ([]byte, error) {
	type fields Image
	c.Data = orEmpty(c.Data)
	return marshalWithType("image", fields(c))
}

func (c Audio) MarshalJSON() ([]byte, error) {
	type fields Audio
	c.Data = orEmpty(c.Data)
	return marshalWithType("audio", fields(c))
}

func (c EmbeddedResource) MarshalJSON() ([]byte, error) {
	type fields EmbeddedResource
	return marshalWithType("resource", fields(c))
}

func (c ResourceLink) MarshalJSON() ([]byte, error) {
	return marshalWithType("resource_link", c.Resource)
}

func (c ToolUse) MarshalJSON() ([]byte, error) {
	type fields ToolUse
	if c.Input == nil {
		c.Input = json.RawMessage(`{}`)
	}
	return marshalWithType("tool_use", fields(c))
}

func (c ToolUseResult) MarshalJSON() ([]byte, error) {
	type fields ToolUseResult
	c.Content = append([]Content{}, c.Content...) // never nil: the field is required
	return marshalWithType("tool_result", fields(c))
}

func (c UnknownContent) MarshalJSON() ([]byte, error) { return c.Raw, strictjson.Check(c.Raw) }

// marshalWithType encodes a struct with at least one member, and adds its type as the first member.
func marshalWithType(kind string, fields any) ([]byte, error) {
	raw, err := strictjson.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return append([]byte(`{"type":"`+kind+`",`), raw[1:]...), nil
}

// contents decodes an array of blocks. It decodes null as no blocks.
type contents []Content

func (c *contents) UnmarshalJSON(raw []byte) error {
	if strictjson.First(raw) == 'n' {
		return nil
	}
	*c = contents{}
	return strictjson.Elements(raw, func(raw []byte) error {
		block, err := decodeContent(raw)
		if err != nil {
			return fmt.Errorf("[%d]: %w", len(*c), err)
		}
		*c = append(*c, block)
		return nil
	})
}

// decodeContent reads one block. A block of an unknown type becomes [UnknownContent].
func decodeContent(raw []byte) (Content, error) {
	if strictjson.First(raw) != '{' {
		return nil, fmt.Errorf("must be an object, got %s", strictjson.Describe(raw))
	}
	named := strictjson.Member(raw, "type")
	kind, ok := strictjson.Unquote(named)
	if !ok && named != nil {
		return nil, fmt.Errorf("type: must be a string, got %s", strictjson.Describe(named))
	}
	if decode := contentDecoders[kind]; decode != nil {
		return decode(raw)
	}
	return UnknownContent{kind, slices.Clone(raw)}, nil
}

// contentDecoders decode blocks, by type.
var contentDecoders = map[string]func(raw []byte) (Content, error){
	"text":          decodeAs[Text],
	"image":         decodeAs[Image],
	"audio":         decodeAs[Audio],
	"resource":      decodeAs[EmbeddedResource],
	"resource_link": decodeAs[ResourceLink],
	"tool_use":      decodeAs[ToolUse],
	"tool_result":   decodeAs[ToolUseResult],
}

// decodeAs decodes a block whose type is known.
func decodeAs[C Content](raw []byte) (Content, error) {
	var c C
	err := strictjson.Unmarshal(raw, &c)
	return c, err
}

// UnmarshalJSON decodes a result, including its nested blocks.
func (c *ToolUseResult) UnmarshalJSON(raw []byte) error {
	type fields ToolUseResult
	var wire struct {
		fields
		Content contents `json:"content"`
	}
	err := strictjson.Unmarshal(raw, &wire)
	*c = ToolUseResult(wire.fields)
	c.Content = wire.Content
	return err
}
