package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/strictjson"
)

// Subscribe makes the client call [Options].ResourceUpdated when a resource changes.
func (c *Client) Subscribe(ctx context.Context, uri string) error { return c.subscribe(ctx, uri, true) }

// Unsubscribe undoes [Client.Subscribe].
func (c *Client) Unsubscribe(ctx context.Context, uri string) error {
	return c.subscribe(ctx, uri, false)
}

func (c *Client) subscribe(ctx context.Context, uri string, on bool) error {
	if !c.setSubscribed(uri, on) {
		return nil
	}
	var err error
	switch s := c.session.Load(); {
	case s.IsStateless():
		err = c.wrapError(c.updateListener(ctx, s))
	case on:
		err = c.Request(ctx, "resources/subscribe", map[string]string{"uri": uri}, nil)
	default:
		err = c.Request(ctx, "resources/unsubscribe", map[string]string{"uri": uri}, nil)
	}
	if err != nil {
		c.setSubscribed(uri, !on)
	}
	return err
}

// setSubscribed records whether a resource is subscribed to, and reports whether that has changed.
func (c *Client) setSubscribed(uri string, on bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed := c.subscribed[uri] != on
	if c.subscribed[uri] = on; !on {
		delete(c.subscribed, uri)
	}
	return changed
}

// SetLogLevel sets the minimum level of messages for [Options].Log.
func (c *Client) SetLogLevel(ctx context.Context, level mcp.Level) error {
	if !slices.Contains(mcp.Levels(), level) {
		return fmt.Errorf("unknown log level %q; levels are %q", level, mcp.Levels())
	}
	c.logLevel.Store(level)
	return c.wrapError(c.sendLogLevel(ctx, c.session.Load()))
}

// sendLogLevel sends logging/setLevel. In stateless revisions each request has the level instead.
func (c *Client) sendLogLevel(ctx context.Context, s *session) error {
	level := c.logLevel.Load().(mcp.Level)
	if level == "" || s.IsStateless() || !s.capabilities.Has("logging") {
		return nil
	}
	r := &request{method: "logging/setLevel"}
	r.setParam("level", strictjson.AppendString(nil, string(level)))
	_, err := c.sendOnce(ctx, s, r)
	return err
}

// A listener is a subscriptions/listen request of the stateless revisions. The server sends
// notifications about changes until the request ends.
type listener struct {
	stop         context.CancelFunc      // ends the listener
	endRequest   context.CancelCauseFunc // ends the request; restoreListener sends a new one
	acknowledge  func()                  // closes acknowledged
	acknowledged chan struct{}           // closed when the server has acknowledged the request
}

var errCancelledByServer = errors.New("cancelled by the server")

const ackTimeout = 5 * time.Second

// A changeFilter selects the changes that the server notifies about.
type changeFilter struct {
	Tools     bool     `json:"toolsListChanged,omitempty"`
	Prompts   bool     `json:"promptsListChanged,omitempty"`
	Resources bool     `json:"resourcesListChanged,omitempty"`
	URIs      []string `json:"resourceSubscriptions,omitempty"`
}

// wantedChanges returns the changes that the client handles and the server notifies about.
func (c *Client) wantedChanges(s *session) changeFilter {
	c.mu.Lock()
	uris := slices.Sorted(maps.Keys(c.subscribed))
	c.mu.Unlock()
	notifies := func(kind string) bool {
		return string(strictjson.Member(s.capabilities[kind], "listChanged")) == "true"
	}
	return changeFilter{
		Tools:     c.o.ToolsChanged != nil && notifies("tools"),
		Prompts:   c.o.PromptsChanged != nil && notifies("prompts"),
		Resources: c.o.ResourcesChanged != nil && notifies("resources"),
		URIs:      uris,
	}
}

// updateListener replaces the listener with one for the current subscriptions. In a session, which may
// be new, it sends resources/subscribe for each of them instead.
func (c *Client) updateListener(ctx context.Context, s *session) error {
	if !s.IsStateless() {
		for _, uri := range c.wantedChanges(s).URIs {
			r := &request{method: "resources/subscribe"}
			r.setParam("uri", strictjson.AppendString(nil, uri))
			if _, err := c.sendOnce(ctx, s, r); err != nil {
				c.o.Logger.Warn("resubscribe failed", "uri", uri, "error", err)
			}
		}
		return nil
	}
	select {
	case c.listenerLock <- struct{}{}:
		defer func() { <-c.listenerLock }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	wanted := c.wantedChanges(s)
	var next *listener
	if wanted.Tools || wanted.Prompts || wanted.Resources || len(wanted.URIs) > 0 {
		var err error
		if next, err = c.listen(ctx, s, wanted); err != nil {
			return err
		}
	}
	c.mu.Lock()
	old := c.listener
	c.listener = next
	c.mu.Unlock()
	if old != nil {
		old.stop()
	}
	return nil
}

// listen sends subscriptions/listen, and returns when the server has acknowledged it.
func (c *Client) listen(ctx context.Context, s *session, wanted changeFilter) (*listener, error) {
	raw, err := strictjson.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(c.life)
	requestLife, endRequest := context.WithCancelCause(life)
	l := &listener{stop: end, endRequest: endRequest, acknowledged: make(chan struct{})}
	l.acknowledge = sync.OnceFunc(func() { close(l.acknowledged) })
	ended := make(chan error, 1)
	r := &request{method: "subscriptions/listen"}
	r.setParam("notifications", raw)
	id := ""
	r.onID = func(requestID jsonrpc.ID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		id = requestID.String()
		c.listeners[id] = l
	}
	go func() {
		_, err := c.sendOnce(requestLife, s, r)
		c.mu.Lock()
		delete(c.listeners, id)
		c.mu.Unlock()
		endRequest(nil)
		ended <- err
		c.restoreListener(life, s, err)
	}()
	select {
	case <-l.acknowledged:
		return l, nil
	case err = <-ended:
		select {
		case <-l.acknowledged:
			return l, nil // restoreListener replaces it
		default:
		}
		if err == nil {
			err = errors.New("the server ended subscriptions/listen without an acknowledgement")
		}
	case <-time.After(ackTimeout):
		err = &jsonrpc.TimeoutError{Method: "subscriptions/listen", After: ackTimeout}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	end()
	return nil, err
}

// listenerOf returns the listener with a request id, or nil.
func (c *Client) listenerOf(id jsonrpc.ID) *listener {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listeners[id.String()]
}

// restoreListener replaces a listener whose request has ended, with retries, until its life ends.
func (c *Client) restoreListener(life context.Context, s *session, err error) {
	for wait := time.Second; ; wait = min(2*wait, time.Minute) {
		select {
		case <-time.After(wait):
		case <-life.Done():
			return
		case <-c.conn.Done():
			return
		}
		c.o.Logger.Warn("subscriptions/listen ended; sending it again", "error", err, "after", wait)
		ctx, cancel := context.WithTimeout(life, ackTimeout)
		err = c.updateListener(ctx, s)
		cancel()
		if err == nil {
			return
		}
	}
}
