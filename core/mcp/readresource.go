package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/petrock/petrock/core/jsonrpc"
)

// A resource is a registered one.
type resource struct {
	Resource
	descriptions
	pace
	handler ResourceHandler
}

// A template is a registered one.
type template struct {
	ResourceTemplate
	descriptions
	pace
	uri      *uriTemplate
	input    *textInput // nil if there is no schema
	handler  ResourceHandler
	complete Completer // if set
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
	made := &resource{Resource: r, handler: h}
	return made, encodable(made)
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
	made := &template{ResourceTemplate: t, uri: uri, input: input, handler: h}
	return made, encodable(made)
}

type uriParams struct {
	URI *string `json:"uri"`
}

// lookUp finds who can read a resource: the one with just that address, else
// the first template that it fits. It checks whether the caller may, and the variables.
func (s *Server) lookUp(ctx context.Context, uri string) (readable, error) {
	if r, ok := s.resources.get(uri); ok {
		return readable{r.handler, nil, r.MIMEType, r.Cache, &r.pace}, checkScopes(ctx, r.Scopes)
	}
	var variables map[string]string
	t, ok := s.templates.find(func(t *template) (fits bool) {
		variables, fits = t.uri.match(uri)
		return fits
	})
	if !ok {
		return readable{}, NotFound(uri)
	}
	if err := checkScopes(ctx, t.Scopes); err != nil {
		return readable{}, err
	}
	return readable{t.handler, variables, t.MIMEType, t.Cache, &t.pace}, t.input.check("variables for the resource template", t.Name, variables)
}

// readable is what lookUp finds.
type readable struct {
	handler   ResourceHandler
	variables map[string]string // of the template; nil if it is none
	mimeType  string            // of contents that do not say theirs
	cache     Cache
	pace      *pace
}

type readResult struct {
	Contents []ResourceContents `json:"contents"`
}

func (s *Server) readResource(ctx context.Context, c *Call, p *uriParams) (any, error) {
	if p.URI == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "resources/read needs the uri of a resource")
	}
	found, err := s.lookUp(ctx, *p.URI)
	if err != nil {
		return nil, err
	}
	c.cache = found.cache
	began := found.pace.begin(c)
	contents, err := found.handler(ctx, *p.URI, found.variables)
	found.pace.end(c, began)
	if err == nil && len(contents) == 0 {
		err = NotFound(*p.URI)
	}
	if err != nil {
		return nil, err
	}
	result := readResult{Contents: make([]ResourceContents, len(contents))}
	for i, part := range contents {
		if part.URI == "" {
			part.URI = *p.URI
		}
		if part.MIMEType == "" {
			part.MIMEType = found.mimeType
		}
		part.Meta = part.Meta.forRevision(c.Revision)
		result.Contents[i] = part
	}
	return result, nil
}

func (s *Server) subscribe(ctx context.Context, c *Call, p *uriParams) (any, error) {
	if p.URI == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "resources/subscribe needs the uri of a resource")
	}
	if _, err := s.lookUp(ctx, *p.URI); err != nil {
		return nil, err
	}
	c.Session.changes.subscribe(*p.URI)
	return struct{}{}, nil
}

func (s *Server) unsubscribe(_ context.Context, c *Call, p *uriParams) (any, error) {
	if p.URI == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "resources/unsubscribe needs the uri of a resource")
	}
	c.Session.changes.unsubscribe(*p.URI)
	return struct{}{}, nil
}
