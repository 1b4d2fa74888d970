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

// A client is notified when nothing has changed for settleDelay, and at the latest maxDelay after the
// first change. This combines the changes of a program that registers many components.
const (
	settleDelay = 10 * time.Millisecond
	maxDelay    = 200 * time.Millisecond
)

// changes collects changes for one client, so that a burst of changes causes one notification of each
// kind.
type changes struct {
	wants  func(kind string) bool   // whether the client wants notifications about a list
	notify func(method, uri string) // uri is empty for a list

	mu         sync.Mutex
	lists      map[string]bool // kinds of components, such as tools
	updated    map[string]bool // URIs of resources
	subscribed map[string]bool // URIs of resources
	timer      *time.Timer     // nil while there is nothing to send
	began      time.Time       // when the timer was first set
	open       bool            // begin has been called, and close has not
}

// newChanges returns a collector. It sends nothing before begin.
func newChanges(wants func(kind string) bool, notify func(method, uri string)) *changes {
	return &changes{wants: wants, notify: notify, lists: map[string]bool{}, updated: map[string]bool{}, subscribed: map[string]bool{}}
}

// begin starts notifications, including those of earlier changes.
func (c *changes) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
	if len(c.lists)+len(c.updated) > 0 {
		c.schedule()
	}
}

func (c *changes) noteList(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[kind] = true
	c.schedule()
}

// noteUpdates records the change of all subscribed resources that match.
func (c *changes) noteUpdates(match func(uri string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := false
	for uri := range c.subscribed {
		if match(uri) {
			c.updated[uri], changed = true, true
		}
	}
	if changed {
		c.schedule()
	}
}

// subscribe reports whether the subscription is new.
func (c *changes) subscribe(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.subscribed[uri]
	c.subscribed[uri] = true
	return !before
}

// unsubscribe reports whether the subscription existed.
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

// subscriptionCost returns the bytes to reserve for a subscription. They exceed its memory, because
// every change of a resource checks all subscriptions.
func subscriptionCost(uri string) int { return 1<<10 + len(uri) }

// reserve counts memory for the client of a call, see [Responder].
func (c *Call) reserve(n int) error {
	if c.responder == nil {
		return nil
	}
	return c.responder.Reserve(n)
}

func (c *changes) schedule() {
	switch {
	case !c.open:
	case c.timer == nil:
		c.began = time.Now()
		c.timer = time.AfterFunc(settleDelay, c.send)
	case time.Since(c.began) < maxDelay-settleDelay:
		c.timer.Reset(settleDelay)
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
			c.notify("notifications/"+kind+"/list_changed", "")
		}
	}
	for _, uri := range updated {
		c.notify("notifications/resources/updated", uri)
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

// sessionChanges returns a collector for the client of a session. It notifies the client about the
// lists that the server offered, while the session is operating.
func sessionChanges(s *Session) *changes {
	return newChanges(func(kind string) bool {
		return s.agreed.Load().declared.Has(kind)
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

// A notificationFilter lists the notifications that a client wants, or gets.
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

// listen notifies the client of changes until the client cancels the request, its credentials expire
// or the connection ends. It first acknowledges the request with the kinds of notifications that it
// grants.
func (s *Server) listen(ctx context.Context, c *Call, p *listenParams) (any, error) {
	if p.Notifications == nil {
		return nil, jsonrpc.Errorf(jsonrpc.InvalidParams, "subscriptions/listen needs notifications")
	}
	granted := s.grant(ctx, c, *p.Notifications)
	meta := Meta{metaPrefix + "subscriptionId": c.req.ID}
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
	c.notify("notifications/subscriptions/acknowledged", map[string]any{"_meta": meta, "notifications": granted})
	listener.begin()
	c.req.Release() // not earlier, because the next request may change something
	authenticated, stop := auth.UntilExpiry(ctx)
	defer stop()
	select {
	case <-authenticated.Done():
	case <-c.via.ending:
	}
	select {
	case <-c.via.ending:
	default:
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	if c.responder == nil { // over HTTP, the end of the stream is enough
		c.req.AfterAnswer(func() {
			c.via.notify(ctx, "notifications/cancelled", map[string]any{"requestId": c.req.ID, "reason": "the server is shutting down"})
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
