package mcp

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

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
