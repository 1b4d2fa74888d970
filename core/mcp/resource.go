package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// ResourceNotFound is the code for a resource that is not there.
const ResourceNotFound jsonrpc.Code = -32002

// A Resource is what clients are told about something that they can read.
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
	Cache       Cache        `json:"-"` // how long clients may keep what they have read
	Scopes      []string     `json:"-"` // what a caller must be allowed who is known by a token, as for a [Tool]
}

// A ResourceTemplate describes the resources whose addresses fit a pattern, such
// as note://{id}. See [Server.AddResourceTemplate] for the patterns.
type ResourceTemplate struct {
	URITemplate string       `json:"uriTemplate"`
	Name        string       `json:"name"`
	Title       string       `json:"title,omitempty"`
	Description string       `json:"description,omitempty"`
	MIMEType    string       `json:"mimeType,omitempty"`
	Annotations *Annotations `json:"annotations,omitempty"`
	Icons       []Icon       `json:"icons,omitempty"`
	Meta        Meta         `json:"_meta,omitempty"`
	Cache       Cache        `json:"-"` // how long clients may keep what they have read
	Scopes      []string     `json:"-"` // what a caller must be allowed who is known by a token, as for a [Tool]

	// InputSchema is what the variables must be beyond being text: an object's schema whose
	// properties are strings. Clients are not shown it. What it lists by enum is
	// offered to complete a variable, unless [Server.CompleteResource] sets who does that. nil means any text.
	InputSchema json.RawMessage `json:"-"`
	// OwnSchema says that a //petrock:schema directive gives a part of the schema. Derived code sets it, and which properties are
	// required is then not compared with the Go type.
	OwnSchema bool `json:"-"`
}

// ResourceContents is a resource, or a part of one, as it is read: text or a blob.
type ResourceContents struct {
	URI      string // that of the request if empty
	MIMEType string // that of the resource, or of the template, if empty
	Text     string
	Blob     []byte // if not nil, the contents are this and not Text
	Meta     Meta
}

// A ResourceHandler reads a resource. variables holds what stands in the
// address for the variables of the template, percent-decoded, and is nil for a
// resource that has none. A client may have put anything there that the input schema
// allows, "/" and ".." included: what leads to files goes through [os.Root]. Its error fails the request;
// [NotFound] is the one for a resource that is not there, and so is returning nothing.
type ResourceHandler func(ctx context.Context, uri string, variables map[string]string) ([]ResourceContents, error)

// NotFound is the error for a resource that is not there.
func NotFound(uri string) error {
	data, err := strictjson.Marshal(map[string]string{"uri": uri})
	if err != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: ResourceNotFound, Message: fmt.Sprintf("no resource %q", short(uri)), Data: data}
}

// resourceWire is the form in which contents travel.
type resourceWire struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *[]byte `json:"blob,omitempty"`
	Meta     Meta    `json:"_meta,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (c ResourceContents) MarshalJSON() ([]byte, error) {
	wire := resourceWire{URI: c.URI, MIMEType: c.MIMEType, Meta: c.Meta}
	if c.Blob != nil {
		wire.Blob = &c.Blob
	} else {
		wire.Text = &c.Text
	}
	return strictjson.Marshal(wire)
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *ResourceContents) UnmarshalJSON(raw []byte) error {
	var wire resourceWire
	if err := strictjson.Unmarshal(raw, &wire); err != nil {
		return err
	}
	*c = ResourceContents{URI: wire.URI, MIMEType: wire.MIMEType, Meta: wire.Meta}
	if wire.Text != nil {
		c.Text = *wire.Text
	}
	if wire.Blob != nil {
		c.Blob = append([]byte{}, *wire.Blob...)
	}
	return nil
}

func (res Resource) forRevision(r Revision) Resource {
	if r < Revision20251125 {
		res.Icons = nil
	}
	if r < Revision20250618 {
		res.Title, res.Meta = "", nil
	}
	res.Annotations = res.Annotations.forRevision(r)
	return res
}

func (t ResourceTemplate) forRevision(r Revision) ResourceTemplate {
	if r < Revision20251125 {
		t.Icons = nil
	}
	if r < Revision20250618 {
		t.Title, t.Meta = "", nil
	}
	t.Annotations = t.Annotations.forRevision(r)
	return t
}
