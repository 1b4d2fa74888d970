package mcp

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// A client is notified when nothing has changed for settleDelay, and at the latest maxDelay after
// the first change. This combines the changes of a program that registers many components.
const (
	settleDelay = 10 * time.Millisecond
	maxDelay    = 200 * time.Millisecond
)

// changes collects changes for one client, so that a burst of changes causes one notification of
// each kind. Several goroutines may use it. It notifies the client on a goroutine of its own, so
// recording a change never waits for a client.
type changes struct {
	wants  func(kind string) bool   // whether the client wants notifications about a list
	notify func(method, uri string) // uri is empty for a list

	mu         sync.Mutex
	lists      map[string]bool // kinds of components, such as tools
	updated    map[string]bool // URIs of resources
	subscribed map[string]bool // URIs of resources
	timer      *time.Timer     // nil while there is nothing to send, and while sending
	sending    bool
	began      time.Time // when the timer was first set
	open       bool      // begin has been called, and close has not
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
	c.schedule()
}

// noteList records that the list of a kind of components has changed.
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
	for uri := range c.subscribed {
		if match(uri) {
			c.updated[uri] = true
			c.schedule()
		}
	}
}

// subscribe adds a subscription, and reports whether it is new.
func (c *changes) subscribe(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.subscribed[uri]
	c.subscribed[uri] = true
	return !before
}

// unsubscribe removes a subscription, and reports whether it existed.
func (c *changes) unsubscribe(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.subscribed[uri]
	delete(c.subscribed, uri)
	delete(c.updated, uri)
	return before
}

// schedule sets the timer that sends the changes, if there are any. mu is held.
func (c *changes) schedule() {
	switch {
	case !c.open || c.sending || len(c.lists)+len(c.updated) == 0:
	case c.timer == nil:
		c.began = time.Now()
		c.timer = time.AfterFunc(settleDelay, c.send)
	case time.Since(c.began) < maxDelay-settleDelay:
		c.timer.Reset(settleDelay)
	}
}

// send notifies the client of the changes so far. It calls notify without holding mu. If the client
// does not read, further changes wait until notify returns, so they take no further goroutine.
func (c *changes) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timer = nil
	if !c.open || c.sending {
		return
	}
	lists, updated := slices.Sorted(maps.Keys(c.lists)), slices.Sorted(maps.Keys(c.updated))
	clear(c.lists)
	clear(c.updated)
	c.sending = true
	c.mu.Unlock()
	for _, kind := range lists {
		if c.wants(kind) {
			c.notify("notifications/"+kind+"/list_changed", "")
		}
	}
	for _, uri := range updated {
		c.notify("notifications/resources/updated", uri)
	}
	c.mu.Lock()
	c.sending = false
	c.schedule()
}

// close ends notifications. Changes that have not been sent are dropped. A notification that is
// being sent may still arrive.
func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = false
	if c.timer != nil {
		c.timer.Stop()
	}
}
