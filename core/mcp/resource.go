package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"

	"github.com/petrock/petrock/core/internal/pace"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// ResourceNotFound is the code for a resource that does not exist.
const ResourceNotFound jsonrpc.Code = -32002

// A Resource describes a resource to clients.
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
	Scopes      []string     `json:"-"` // that a token must have, as for a [Tool]

	// Local hides the resource from remote clients: only sessions of [Server.Serve], for example over
	// stdio, can see it. HTTP clients cannot.
	Local bool `json:"-"`
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
	Scopes      []string     `json:"-"` // that a token must have, as for a [Tool]
	Local       bool         `json:"-"` // hides the template from remote clients, as for a [Resource]

	// InputSchema validates the variables: the schema of an object whose properties are strings. It is
	// not sent to clients. The values of an enum complete a variable, unless [Server.CompleteResource]
	// sets a completer. nil allows any text.
	InputSchema json.RawMessage `json:"-"`
}

// ResourceContents are the contents of a resource, or a part of them: text or a blob.
type ResourceContents struct {
	URI      string // defaults to the URI of the request
	MIMEType string // defaults to that of the resource or template
	Text     string
	Blob     []byte // replaces Text unless nil
	Meta     Meta
}

// A ResourceHandler reads a resource. variables holds the values of the template's variables,
// percent-decoded; it is nil for a resource. A value can be any text that the input schema allows,
// including "/" and "..", so open files with [os.Root]. An error fails the request. If the resource
// does not exist, return [NotFound] or no contents.
type ResourceHandler func(ctx context.Context, uri string, variables map[string]string) ([]ResourceContents, error)

// NotFound returns the error for a resource that does not exist.
func NotFound(uri string) error {
	data, _ := strictjson.Marshal(map[string]string{"uri": uri}) // strings cannot fail
	return &jsonrpc.Error{Code: ResourceNotFound, Message: fmt.Sprintf("no resource %q", short(uri)), Data: data}
}

type resourceWire struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     *[]byte `json:"blob,omitempty"`
	Meta     Meta    `json:"_meta,omitempty"`
}

func (c ResourceContents) MarshalJSON() ([]byte, error) {
	wire := resourceWire{URI: c.URI, MIMEType: c.MIMEType, Meta: c.Meta}
	if c.Blob != nil {
		wire.Blob = &c.Blob
	} else {
		wire.Text = &c.Text
	}
	return strictjson.Marshal(wire)
}

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
	dropNewer(r, &res.Title, &res.Icons, &res.Meta)
	res.Annotations = res.Annotations.forRevision(r)
	return res
}

func (t ResourceTemplate) forRevision(r Revision) ResourceTemplate {
	dropNewer(r, &t.Title, &t.Icons, &t.Meta)
	t.Annotations = t.Annotations.forRevision(r)
	return t
}

type resource struct {
	Resource
	descriptionCache
	reader
}

type template struct {
	ResourceTemplate
	descriptionCache
	reader
	uri   *uriTemplate
	input *textInput
}

// A reader reads a resource, or the resources of a template.
type reader struct {
	handler  ResourceHandler
	mimeType string // default of the contents
	cache    Cache
	pace     pace.Pace
}

func newResource(r Resource, h ResourceHandler) (*resource, error) {
	u, err := url.Parse(r.URI)
	switch {
	case err != nil:
		return nil, fmt.Errorf("URI: %w", err)
	case u.Scheme == "":
		return nil, errors.New("URI: must begin with a scheme, such as note://")
	case r.Name == "":
		return nil, errors.New("has no name")
	case h == nil:
		return nil, errors.New("has no handler")
	}
	made := &resource{Resource: r, descriptionCache: descriptionCache{local: r.Local}}
	made.reader.set(h, r.MIMEType, r.Cache, r.Scopes)
	return made, checkEncodable(made)
}

func newTemplate(t ResourceTemplate, h ResourceHandler) (*template, error) {
	uri, err := parseURITemplate(t.URITemplate)
	switch {
	case err != nil:
		return nil, err
	case t.Name == "":
		return nil, errors.New("has no name")
	case h == nil:
		return nil, errors.New("has no handler")
	}
	input, err := newTextInput(t.InputSchema)
	if err != nil {
		return nil, err
	}
	made := &template{ResourceTemplate: t, descriptionCache: descriptionCache{local: t.Local}, uri: uri, input: input}
	made.reader.set(h, t.MIMEType, t.Cache, t.Scopes)
	made.completes = input.complete != nil
	return made, checkEncodable(made)
}

func (r *reader) set(h ResourceHandler, mimeType string, cache Cache, scopes []string) {
	r.handler, r.mimeType, r.cache = h, mimeType, cache
	r.cache.Public = cache.Public && len(scopes) == 0
}

type uriParams struct {
	URI *string `json:"uri"`
}

// withURI returns a method that passes the uri of its params to f.
func withURI(f func(ctx context.Context, c *Call, uri string) (any, error)) func(context.Context, *Call) (any, error) {
	return withParams(func(ctx context.Context, c *Call, p *uriParams) (any, error) {
		if p.URI == nil {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "%s needs the uri of a resource", c.Method)
		}
		return f(ctx, c, *p.URI)
	})
}

// lookUp returns the reader of the resource with that URI, or else of the first template that matches
// it, of those that the call can see, and the variables of the template. It checks the scopes of the
// caller and the variables.
func (s *Server) lookUp(ctx context.Context, c *Call, uri string) (*reader, map[string]string, error) {
	if r, ok := s.resources.get(uri); ok && c.canSee(r) {
		return &r.reader, nil, checkScopes(ctx, r.Scopes)
	}
	var variables map[string]string
	t, ok := s.templates.find(func(t *template) (matches bool) {
		variables, matches = t.uri.match(uri)
		return matches && c.canSee(t)
	})
	if !ok {
		return nil, nil, NotFound(uri)
	}
	if err := checkScopes(ctx, t.Scopes); err != nil {
		return nil, nil, err
	}
	return &t.reader, variables, t.input.check("variables for the resource template", t.Name, variables)
}

func (s *Server) readResource(ctx context.Context, c *Call, uri string) (any, error) {
	found, variables, err := s.lookUp(ctx, c, uri)
	if err != nil {
		return nil, err
	}
	c.cache = found.cache
	c.req.ReleaseUnlessQuick(&found.pace)
	contents, err := found.handler(ctx, uri, variables)
	if err == nil && len(contents) == 0 {
		err = NotFound(uri)
	}
	if err != nil {
		return nil, err
	}
	rendered := make([]ResourceContents, len(contents))
	for i, part := range contents {
		part.URI, part.MIMEType = cmp.Or(part.URI, uri), cmp.Or(part.MIMEType, found.mimeType)
		part.Meta = part.Meta.forRevision(c.Revision)
		rendered[i] = part
	}
	result := map[string]any{"contents": rendered}
	if meta := c.resultMeta(nil); meta != nil {
		result["_meta"] = meta
	}
	return result, nil
}

func (s *Server) subscribe(ctx context.Context, c *Call, uri string) (any, error) {
	if _, _, err := s.lookUp(ctx, c, uri); err != nil {
		return nil, err
	}
	if len(uri) > maxSubscribed {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the uri has %d bytes (limit %d for a subscription)", len(uri), maxSubscribed)
	}
	if !c.Session.changes.subscribe(uri) {
		return struct{}{}, nil
	}
	if err := c.reserve(subscriptionCost(uri)); err != nil {
		c.Session.changes.unsubscribe(uri)
		return nil, err
	}
	return struct{}{}, nil
}

func (s *Server) unsubscribe(_ context.Context, c *Call, uri string) (any, error) {
	if c.Session.changes.unsubscribe(uri) {
		_ = c.reserve(-subscriptionCost(uri)) // releasing never fails
	}
	return struct{}{}, nil
}

// AddResource adds a resource that a Go function reads. A string is sent as text, a []byte as a blob,
// a [ResourceContents], a pointer to one or a slice unchanged, and any other Out as JSON. The MIME
// type of r defaults to text/plain, application/octet-stream or application/json, depending on Out.
func AddResource[Out any](s *Server, r Resource, f func(context.Context) (Out, error)) error {
	var handler ResourceHandler
	if f != nil {
		handler = func(ctx context.Context, _ string, _ map[string]string) ([]ResourceContents, error) {
			out, err := f(ctx)
			if err != nil {
				return nil, err
			}
			return contentsOf(out)
		}
	}
	var err error
	if r.MIMEType, err = contentType(reflect.TypeFor[Out](), r.MIMEType); err != nil {
		return add(s, &s.resources, r.URI, nil, err)
	}
	return s.AddResource(r, handler)
}

// AddResourceTemplate adds a resource template that a Go function reads. In is a struct whose fields
// are the variables of the template, decoded as [AddPrompt] decodes arguments. Out is as in
// [AddResource].
//
// If t has no schema, it is inferred from In. Otherwise it must match In.
func AddResourceTemplate[In, Out any](to Registrar, t ResourceTemplate, f func(context.Context, In) (Out, error)) error {
	var handler ResourceHandler
	if f != nil {
		decode := textDecoder[In]("variables")
		handler = func(ctx context.Context, _ string, variables map[string]string) ([]ResourceContents, error) {
			in, err := decode(variables)
			if err != nil {
				return nil, err
			}
			out, err := f(ctx, in)
			if err != nil {
				return nil, err
			}
			return contentsOf(out)
		}
	}
	return addTypedTemplate(to.derived(), t, reflect.TypeFor[In](), reflect.TypeFor[Out](), handler)
}

func addTypedTemplate(d *Derived, t ResourceTemplate, in, out reflect.Type, h ResourceHandler) error {
	raw, err := d.textSchema(in, t.InputSchema, true)
	if err == nil {
		t.InputSchema = raw
		t.MIMEType, err = contentType(out, t.MIMEType)
	}
	var made *template
	if err == nil {
		made, err = newTemplate(t, h)
	}
	if err == nil {
		err = checkNames(in, t.URITemplate, made.uri.variables())
	}
	return d.describe(add(d.server, &d.server.templates, t.URITemplate, made, err))
}

// contentType returns given or, if it is empty, the default MIME type of out.
func contentType(out reflect.Type, given string) (string, error) {
	const asJSON = "application/json"
	switch out {
	case reflect.TypeFor[string]():
		return cmp.Or(given, "text/plain"), nil
	case reflect.TypeFor[[]byte]():
		return cmp.Or(given, "application/octet-stream"), nil
	case reflect.TypeFor[ResourceContents](), reflect.TypeFor[*ResourceContents](), reflect.TypeFor[[]ResourceContents]():
		return given, nil
	}
	if given != "" && given != asJSON {
		return "", fmt.Errorf("%v is sent as %s, not as %s; return a string", out, asJSON, given)
	}
	return asJSON, nil
}

func contentsOf(out any) ([]ResourceContents, error) {
	switch out := out.(type) {
	case string:
		return []ResourceContents{{Text: out}}, nil
	case []byte:
		return []ResourceContents{{Blob: append([]byte{}, out...)}}, nil // not nil, or it would be text
	case ResourceContents:
		return []ResourceContents{out}, nil
	case *ResourceContents:
		if out == nil {
			return nil, nil
		}
		return []ResourceContents{*out}, nil
	case []ResourceContents:
		return out, nil
	}
	raw, err := strictjson.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode contents: %w", err)
	}
	return []ResourceContents{{MIMEType: "application/json", Text: string(raw)}}, nil
}
