package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/jsonrpc"
)

// A client is told of changes once there has been none for settle, or latest after the first: long
// enough for a program that registers many components at once.
const (
	settle = 10 * time.Millisecond
	latest = 200 * time.Millisecond
)

// changes gathers what a client is to be told has changed, so that a burst of
// changes makes one notification of each kind.
type changes struct {
	wants func(kind string) bool   // whether the client is to be told that a list has changed
	tell  func(method, uri string) // uri is empty for a list

	mu         sync.Mutex
	lists      map[string]bool // kinds of components, such as tools
	updated    map[string]bool // addresses of resources
	subscribed map[string]bool // addresses of resources
	timer      *time.Timer     // nil while there is nothing to send
	began      time.Time       // when the timer was first set
	open       bool            // begin has been called, and close has not
}

// newChanges returns changes that gather, and are told from begin on.
func newChanges(wants func(kind string) bool, tell func(method, uri string)) *changes {
	return &changes{wants: wants, tell: tell, lists: map[string]bool{}, updated: map[string]bool{}, subscribed: map[string]bool{}}
}

// begin lets the client be told, also of what has gathered so far.
func (c *changes) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	if len(c.lists)+len(c.updated) > 0 {
		c.schedule()
	}
}

func (c *changes) list(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[kind] = true
	c.schedule()
}

// update notes that a resource has changed, if the client has subscribed to it.
func (c *changes) update(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed[uri] {
		c.updated[uri] = true
		c.schedule()
	}
}

// updateAll notes that the resources have changed that the client has subscribed to and that fit.
func (c *changes) updateAll(fits func(uri string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	some := false
	for uri := range c.subscribed {
		if fits(uri) {
			c.updated[uri], some = true, true
		}
	}
	if some {
		c.schedule()
	}
}

// subscribe reports whether the subscription is a new one.
func (c *changes) subscribe(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.subscribed[uri]
	c.subscribed[uri] = true
	return !before
}

// unsubscribe reports whether there was a subscription.
func (c *changes) unsubscribe(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.subscribed[uri]
	delete(c.subscribed, uri)
	delete(c.updated, uri)
	return before
}

// maxSubscribed is the size limit of a URI to subscribe to, in bytes.
const maxSubscribed = 8 << 10

// subscriptionCost is what a subscription to a resource counts for the memory of a client. It is
// more than it takes: every change of a resource looks at all subscriptions.
func subscriptionCost(uri string) int { return 1<<10 + len(uri) }

// hold accounts for what is kept for the client of a call, see [Responder].
func (c *Call) hold(n int) error {
	if c.responder == nil {
		return nil
	}
	return c.responder.Hold(n)
}

func (c *changes) schedule() {
	switch {
	case !c.open:
	case c.timer == nil:
		c.began = time.Now()
		c.timer = time.AfterFunc(settle, c.send)
	case time.Since(c.began) < latest-settle:
		c.timer.Reset(settle)
	}
}

func (c *changes) send() {
	c.mu.Lock()
	lists, updated := slices.Sorted(maps.Keys(c.lists)), slices.Sorted(maps.Keys(c.updated))
	clear(c.lists)
	clear(c.updated)
	c.timer = nil
	open := c.open
	c.mu.Unlock()
	if !open {
		return
	}
	for _, kind := range lists {
		if c.wants(kind) {
			c.tell("notifications/"+kind+"/list_changed", "")
		}
	}
	for _, uri := range updated {
		c.tell("notifications/resources/updated", uri)
	}
}

func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	if c.timer != nil {
		c.timer.Stop()
	}
}

// sessionChanges tell the client of a session about the lists that it was offered, while the
// session operates.
func sessionChanges(s *Session) *changes {
	return newChanges(func(kind string) bool {
		return s.agreement().offered.Has(kind)
	}, func(method, uri string) {
		if s.State() != Operating {
			return
		}
		var params any
		if uri != "" {
			params = map[string]string{"uri": uri}
		}
		s.notify(context.Background(), method, params)
	})
}

func (s *Server) watch(c *changes) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers[c] = struct{}{}
}

func (s *Server) unwatch(c *changes) {
	s.mu.Lock()
	delete(s.watchers, c)
	s.mu.Unlock()
	c.close()
}

// notificationFilter is what a client wants to be told of, or is going to be.
type notificationFilter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

func (f notificationFilter) wants(kind string) bool {
	return kind == "tools" && f.Tools || kind == "prompts" && f.Prompts || kind == "resources" && f.Resources
}

type listenParams struct {
	Notifications *notificationFilter `json:"notifications"`
}

// listen tells the client of changes until it cancels the request, its credentials or the
// connection end. What it will be told of is said first: what the server does not offer is left
// out.
func (s *Server) listen(ctx context.Context, c *Call, p *listenParams) (any, error) {
	if p.Notifications == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "subscriptions/listen needs notifications, which says what to tell of")
	}
	granted := s.grant(ctx, c, *p.Notifications)
	meta := Meta{metaPrefix + "subscriptionId": c.req.ID}
	listener := newChanges(granted.wants, func(method, uri string) {
		params := map[string]any{"_meta": meta}
		if uri != "" {
			params["uri"] = uri
		}
		c.tell(method, params)
	})
	cost := 0
	for _, uri := range granted.URIs {
		if listener.subscribe(uri) {
			cost += subscriptionCost(uri)
		}
	}
	if err := c.hold(cost); err != nil {
		return nil, err
	}
	s.watch(listener)
	defer s.unwatch(listener)
	c.tell("notifications/subscriptions/acknowledged", map[string]any{"_meta": meta, "notifications": granted})
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
	if c.responder == nil { // where there is one, its stream ends
		c.req.AfterAnswer(func() {
			c.via.notify(ctx, "notifications/cancelled", map[string]any{"requestId": c.req.ID, "reason": "the server is shutting down"})
		})
	}
	return map[string]any{"_meta": meta}, nil
}

// grant is what of a client's wishes can be fulfilled.
func (s *Server) grant(ctx context.Context, c *Call, wish notificationFilter) notificationFilter {
	granted := notificationFilter{
		Tools:     wish.Tools && s.offered("tools"),
		Prompts:   wish.Prompts && s.offered("prompts"),
		Resources: wish.Resources && s.offered("resources"),
	}
	for _, uri := range wish.URIs {
		if _, err := s.lookUp(ctx, c, uri); err == nil && len(uri) <= maxSubscribed {
			granted.URIs = append(granted.URIs, uri)
		}
	}
	return granted
}
