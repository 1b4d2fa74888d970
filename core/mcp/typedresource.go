package mcp

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/petrock/petrock/core/schema"
	"github.com/petrock/petrock/core/strictjson"
)

// AddResource adds a resource that is read by a Go function. A string is text and a []byte a blob;
// [ResourceContents], one, a pointer to one or several, are sent as they are; anything else is sent as
// JSON. Without a MIME type, r has that of Out: text/plain, application/octet-stream or application/json.
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
	return s.addTypedResource(r, reflect.TypeFor[Out](), handler)
}

// addTypedResource adds a resource for the caller of its caller.
func (s *Server) addTypedResource(r Resource, out reflect.Type, h ResourceHandler) error {
	var err error
	if r.MIMEType, err = contentType(out, r.MIMEType); err != nil {
		return failed("resource", r.URI, err)
	}
	return s.AddResource(r, h)
}

// AddResourceTemplate adds the resources whose addresses fit a pattern, and that a Go function reads. In is a struct whose fields
// are the variables of the pattern, decoded as [AddPrompt] decodes arguments. Out is that of [AddResource].
//
// If t has no schema, it is inferred from In. One that it has must fit In.
func AddResourceTemplate[In, Out any](s *Server, t ResourceTemplate, f func(context.Context, In) (Out, error)) error {
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
	return s.addTypedTemplate(t, reflect.TypeFor[In](), reflect.TypeFor[Out](), handler)
}

// addTypedTemplate adds a resource template for the caller of its caller.
func (s *Server) addTypedTemplate(t ResourceTemplate, in, out reflect.Type, h ResourceHandler) error {
	given := t.InputSchema != nil
	fields, err := textFields(in)
	if err == nil && !given {
		t.InputSchema, err = inferText(in, fields)
	}
	if err == nil {
		t.MIMEType, err = contentType(out, t.MIMEType)
	}
	var made *template
	if err == nil {
		made, err = newTemplate(t, h)
	}
	if err == nil && given {
		err = fits(made.input.schema, in, schema.Input, isDerived(t.OwnSchema))
	}
	if err == nil {
		err = sameNames(in, fields, t.URITemplate, made.uri.variables())
	}
	if err == nil {
		err = s.templates.add(t.URITemplate, made)
	}
	if err != nil {
		return failed("resource template", t.URITemplate, err)
	}
	s.offerChoices(made.input)
	s.changed("resources")
	return nil
}

// contentType is the MIME type of what a function reads, unless given.
func contentType(out reflect.Type, given string) (string, error) {
	const asJSON = "application/json"
	made := asJSON
	switch out {
	case reflect.TypeFor[string]():
		made = "text/plain"
	case reflect.TypeFor[[]byte]():
		made = "application/octet-stream"
	case reflect.TypeFor[ResourceContents](), reflect.TypeFor[*ResourceContents](), reflect.TypeFor[[]ResourceContents]():
		made = ""
	}
	if made == asJSON && given != "" && given != asJSON {
		return "", fmt.Errorf("%v is sent as %s, not as %s; return a string", out, asJSON, given)
	}
	return cmp.Or(given, made), nil
}

// contentsOf is what a typed function has read, in the form of the protocol.
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
