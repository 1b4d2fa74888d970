package mcp

import (
	"context"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A notificationFilter lists the notifications that a client wants, or gets.
type notificationFilter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// wants reports whether the filter includes changes of a list.
func (f notificationFilter) wants(kind string) bool {
	return kind == "tools" && f.Tools || kind == "prompts" && f.Prompts || kind == "resources" && f.Resources
}

// listenParams are the params of subscriptions/listen.
type listenParams struct {
	Notifications *notificationFilter `json:"notifications"`
}

// listen notifies the client of changes until the client cancels the request, its credentials
// expire or the connection ends. It first acknowledges the request with the kinds of notifications
// that it grants.
func (s *Server) listen(ctx context.Context, c *Call, p *listenParams) (any, error) {
	if p.Notifications == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "subscriptions/listen needs notifications")
	}
	granted := s.grant(ctx, c, *p.Notifications)
	meta := Meta{metaPrefix + "subscriptionId": c.req.ID()}
	listener := newChanges(granted.wants, func(method, uri string) {
		params := map[string]any{"_meta": meta}
		if uri != "" {
			params["uri"] = uri
		}
		c.notify(method, params)
	})
	cost := 0
	for _, uri := range granted.URIs {
		if listener.subscribe(uri) {
			cost += subscriptionCost(uri)
		}
	}
	if err := c.reserve(cost); err != nil {
		return nil, err
	}
	s.watch(listener)
	defer s.unwatch(listener)
	// The acknowledgement precedes all changes: watch only collects them until begin.
	c.notify("notifications/subscriptions/acknowledged", map[string]any{"_meta": meta, "notifications": granted})
	listener.begin()
	c.req.Release() // not earlier, because the next request may change something
	authenticated, stop := auth.UntilExpiry(ctx)
	defer stop()
	select {
	case <-authenticated.Done():
	case <-c.via.ending:
	}
	// If the server ends first, the client gets a result. If the client cancelled, it expects none.
	// Expired credentials end the subscription with a result too.
	if ctx.Err() != nil && c.via.state.Load() != stateShutdown {
		return nil, context.Cause(ctx)
	}
	if c.responder == nil { // over HTTP, the end of the stream is enough
		c.req.AfterAnswer(func() {
			c.via.notify(ctx, "notifications/cancelled", map[string]any{"requestId": c.req.ID(), "reason": "the server is shutting down"})
		})
	}
	return map[string]any{"_meta": meta}, nil
}

// grant returns the requested notifications that the server offers.
func (s *Server) grant(ctx context.Context, c *Call, requested notificationFilter) notificationFilter {
	granted := notificationFilter{
		Tools:     requested.Tools && s.declares("tools"),
		Prompts:   requested.Prompts && s.declares("prompts"),
		Resources: requested.Resources && s.declares("resources"),
	}
	for _, uri := range requested.URIs {
		if _, _, err := s.lookUp(ctx, c, uri); err == nil && len(uri) <= maxSubscribed {
			granted.URIs = append(granted.URIs, uri)
		}
	}
	return granted
}
