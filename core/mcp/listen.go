package mcp

import (
	"context"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// notificationFilter is what a client wants to be told of, or is going to be.
type notificationFilter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (f notificationFilter) wants(kind string) bool {
	switch kind {
	case "tools":
		return f.Tools
	case "prompts":
		return f.Prompts
	case "resources":
		return f.Resources
	}
	return false
}

type listenParams struct {
	Notifications *notificationFilter `json:"notifications"`
}

// subscriptionMeta says to which subscription a message belongs.
type subscriptionMeta struct {
	ID jsonrpc.ID `json:"io.modelcontextprotocol/subscriptionId"`
}

type acknowledgedParams struct {
	Meta          subscriptionMeta   `json:"_meta"`
	Notifications notificationFilter `json:"notifications"`
}

type listenedParams struct {
	Meta subscriptionMeta `json:"_meta"`
	URI  string           `json:"uri,omitempty"`
}

type listenResult struct {
	Meta subscriptionMeta `json:"_meta"`
}

// listen tells the client of changes until it cancels the request, its credentials or the connection end.
// What it will be told of is said first: what the server does not offer is left out.
func (s *Server) listen(ctx context.Context, c *Call, p *listenParams) (any, error) {
	if p.Notifications == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "subscriptions/listen needs notifications, which says what to tell of")
	}
	granted := s.grant(ctx, *p.Notifications)
	meta := subscriptionMeta{c.req.ID}
	listener := newChanges(granted.wants, func(method, uri string) {
		c.tell(method, listenedParams{meta, uri})
	})
	for _, uri := range granted.URIs {
		listener.subscribe(uri)
	}
	s.watch(listener)
	defer s.unwatch(listener)
	c.tell("notifications/subscriptions/acknowledged", acknowledgedParams{meta, granted})
	listener.begin()
	c.req.Release() // and not before: what comes next may change something
	known, stop := auth.UntilExpiry(ctx)
	defer stop()
	select {
	case <-known.Done():
	case <-c.via.ending:
	}
	select {
	case <-c.via.ending:
	default:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if c.responder != nil {
		return listenResult{meta}, nil // and the stream ends
	}
	c.req.AfterAnswer(func() {
		c.via.notify(ctx, "notifications/cancelled", map[string]any{"requestId": c.req.ID, "reason": "the server is shutting down"})
	})
	return listenResult{meta}, nil
}

// grant is what of a client's wishes can be fulfilled.
func (s *Server) grant(ctx context.Context, wish notificationFilter) notificationFilter {
	granted := notificationFilter{
		Tools:     wish.Tools && s.offered("tools"),
		Prompts:   wish.Prompts && s.offered("prompts"),
		Resources: wish.Resources && s.offered("resources"),
	}
	for _, uri := range wish.URIs {
		if _, err := s.lookUp(ctx, uri); err == nil {
			granted.URIs = append(granted.URIs, uri)
		}
	}
	return granted
}
