package mcp

import (
	"cmp"
	"context"
	"errors"

	"github.com/petrock/petrock/core/jsonrpc"
)

// readResource reads a resource and sets the URI and MIME type of contents that lack them.
func (s *Server) readResource(ctx context.Context, c *Call) (any, error) {
	found, variables, err := s.lookUp(ctx, c, c.Target)
	if err != nil {
		return nil, err
	}
	c.cache = Cache{found.cache.TTL, found.cache.Public && len(found.scopes) == 0}
	c.releaseUnlessQuick(&found.pace)
	contents, err := found.handler(ctx, c.Target, variables)
	if err == nil && len(contents) == 0 {
		err = NotFound(c.Target)
	}
	if err != nil && !isProtocolError(err) && !errors.Is(err, ResourceNotFound) {
		// All revisions have this code for it. The message is whole, also around an error response.
		return nil, jsonrpc.Errorf(jsonrpc.InternalError, "%v", c.forClient(err))
	}
	if err != nil {
		return nil, err
	}
	rendered := make([]ResourceContents, len(contents))
	for i, part := range contents {
		part.URI, part.MIMEType = cmp.Or(part.URI, c.Target), cmp.Or(part.MIMEType, found.mimeType)
		part.Meta = part.Meta.forRevision(c.Revision)
		rendered[i] = part
	}
	result := map[string]any{"contents": rendered}
	if meta := c.resultMeta(nil); meta != nil {
		result["_meta"] = meta
	}
	return result, nil
}

// lookUp returns the reader of the resource with that URI, or else of the most specific template
// that matches it, of those that the call can see, and the variables of the template. It checks the
// scopes of the caller and the variables.
func (s *Server) lookUp(ctx context.Context, c *Call, uri string) (*reader, map[string]string, error) {
	if r, ok := s.resources.get(uri); ok && c.canSee(r) {
		return &r.reader, nil, checkScopes(ctx, r.Scopes)
	}
	var found *template
	var variables map[string]string
	for t := range s.templates.all() {
		if found != nil && !t.uri.MoreSpecific(found.uri) || !c.canSee(t) {
			continue
		}
		if values, matches := t.uri.Match(uri); matches {
			found, variables = t, values
		}
	}
	if found == nil {
		return nil, nil, NotFound(uri)
	}
	if err := checkScopes(ctx, found.Scopes); err != nil {
		return nil, nil, err
	}
	return &found.reader, variables, found.input.check("variables for the resource template", found.Name, variables)
}

// subscribe notifies the session of changes of a resource from now on.
func (s *Server) subscribe(ctx context.Context, c *Call) (any, error) {
	uri := c.Target
	if _, _, err := s.lookUp(ctx, c, uri); err != nil {
		return nil, err
	}
	if len(uri) > maxSubscribed {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "the uri has %d bytes (limit %d for a subscription)", len(uri), maxSubscribed)
	}
	if c.Session.changes.subscribe(uri) {
		if err := c.reserve(subscriptionCost(uri)); err != nil {
			c.Session.changes.unsubscribe(uri)
			return nil, err
		}
	}
	return struct{}{}, nil
}

// unsubscribe ends subscribe. It is no error if there is no subscription.
func (s *Server) unsubscribe(_ context.Context, c *Call) (any, error) {
	if c.Session.changes.unsubscribe(c.Target) {
		_ = c.reserve(-subscriptionCost(c.Target)) // releasing never fails
	}
	return struct{}{}, nil
}

// maxSubscribed is the size limit of a URI to subscribe to, in bytes.
const maxSubscribed = 8 << 10

// subscriptionCost returns the bytes to reserve for a subscription. They exceed its memory, because
// every change of a resource checks all subscriptions.
func subscriptionCost(uri string) int { return 1<<10 + len(uri) }
