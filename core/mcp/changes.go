package mcp

import (
	"context"
	"slices"
	"sync"
	"time"
)

// burst is how long changes are gathered before the client is told of them: long
// enough for a program that registers many things at once, too short to notice.
const burst = 10 * time.Millisecond

// changes gathers what a client is to be told has changed, so that a burst of
// changes makes one notification of each kind.
type changes struct {
	session *Session

	mu         sync.Mutex
	lists      []string        // notifications to send, without repeats
	updated    []string        // addresses of resources, without repeats
	subscribed map[string]bool // addresses of resources
	timer      *time.Timer     // running while there is something to send
	closed     bool
}

// list notes that a list has changed; method is the notification that says so.
func (c *changes) list(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.lists, method) {
		c.lists = append(c.lists, method)
		c.schedule()
	}
}

// update notes that a resource has changed, if the client wants to know.
func (c *changes) update(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed[uri] && !slices.Contains(c.updated, uri) {
		c.updated = append(c.updated, uri)
		c.schedule()
	}
}

func (c *changes) subscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed == nil {
		c.subscribed = make(map[string]bool)
	}
	c.subscribed[uri] = true
}

func (c *changes) unsubscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribed, uri)
}

func (c *changes) schedule() {
	if c.timer == nil && !c.closed {
		c.timer = time.AfterFunc(burst, c.send)
	}
}

// send tells the client of all that has gathered.
func (c *changes) send() {
	c.mu.Lock()
	lists, updated := c.lists, c.updated
	c.lists, c.updated, c.timer = nil, nil, nil
	closed := c.closed
	c.mu.Unlock()
	// A client that is not there yet, or not any more, has no use for it.
	if closed || c.session.State() != Operating {
		return
	}
	ctx := context.Background()
	for _, method := range lists {
		c.session.notify(ctx, method, nil)
	}
	for _, uri := range updated {
		c.session.notify(ctx, "notifications/resources/updated", map[string]string{"uri": uri})
	}
}

func (c *changes) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
}
