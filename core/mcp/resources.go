package mcp

import (
	"cmp"
	"context"

	"github.com/petrock/petrock/core/jsonrpc"
)

// uriParams are the params of the methods that name a resource.
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

// readResource reads a resource and sets the URI and MIME type of contents that lack them.
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

// lookUp returns the reader of the resource with that URI, or else of the first template that
// matches it, of those that the call can see, and the variables of the template. It checks the
// scopes of the caller and the variables.
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

// subscribe notifies the session of changes of a resource from now on.
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

// unsubscribe ends subscribe. It is no error if there is no subscription.
func (s *Server) unsubscribe(_ context.Context, c *Call, uri string) (any, error) {
	if c.Session.changes.unsubscribe(uri) {
		_ = c.reserve(-subscriptionCost(uri)) // releasing never fails
	}
	return struct{}{}, nil
}

// maxSubscribed is the size limit of a URI to subscribe to, in bytes.
const maxSubscribed = 8 << 10

// subscriptionCost returns the bytes to reserve for a subscription. They exceed its memory, because
// every change of a resource checks all subscriptions.
func subscriptionCost(uri string) int { return 1<<10 + len(uri) }
