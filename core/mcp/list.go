package mcp

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/strictjson"
)

// listParams are the params of all list methods.
type listParams struct {
	Cursor *string `json:"cursor"`
}

// A listResult is one page of a list. It encodes itself from the cached descriptions, so a list
// costs a copy of its text (BenchmarkListTools).
type listResult struct {
	field    string
	items    []component
	next     string // the cursor of the next page; "" on the last
	revision Revision
}

// AppendJSON implements [jsonrpc.Appender].
func (l listResult) AppendJSON(dst []byte) ([]byte, error) {
	dst = strictjson.AppendString(append(dst, '{'), l.field)
	dst = append(dst, ':', '[')
	for i, item := range l.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendDescription(dst, item, l.revision); err != nil {
			return dst, err
		}
	}
	dst = append(dst, ']')
	if l.next != "" {
		dst = append(dst, `,"nextCursor":`...)
		dst = strictjson.AppendString(dst, l.next)
	}
	return append(dst, '}'), nil
}

func (l listResult) MarshalJSON() ([]byte, error) { return l.AppendJSON(nil) }

// list is the method that lists the registry, in the order of names. A cursor holds the last name
// of the previous page, so that no item appears twice or is missing if others are added and removed
// between pages. A cursor needs no state in the server.
func (r *registry[T]) list(_ context.Context, c *Call, p *listParams) (any, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	from := 0
	if p.Cursor != nil {
		raw, err := base64.RawURLEncoding.DecodeString(*p.Cursor)
		last, ours := strings.CutPrefix(string(raw), cursorMark)
		if err != nil || !ours {
			return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "unknown cursor %q; use the nextCursor of the previous page, or omit it", short(*p.Cursor))
		}
		at, found := slices.BinarySearch(r.names, last)
		if from = at; found {
			from++
		}
	}
	o := &c.via.server.o
	c.cache = o.ListCache
	page := listResult{field: r.field, revision: c.Revision}
	page.items = make([]component, 0, min(o.PageSize, len(r.names)-from))
	last := ""
	for _, name := range r.names[from:] {
		item := r.items[name]
		if !c.canSee(item) {
			continue
		}
		if len(page.items) == o.PageSize {
			page.next = base64.RawURLEncoding.EncodeToString([]byte(cursorMark + last))
			break
		}
		page.items, last = append(page.items, item), name
	}
	return page, nil
}

// cursorMark distinguishes our cursors from other base64.
const cursorMark = "after:"

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
