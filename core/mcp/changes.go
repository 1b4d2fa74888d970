package mcp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A client is told of changes once there has been none for settle, and in any
// case latest after the first: long enough for a program that registers many things
// at once, too short to notice.
const (
	settle = 10 * time.Millisecond
	latest = 200 * time.Millisecond
)

// changes gathers what a client is to be told has changed, so that a burst of
// changes makes one notification of each kind.
type changes struct {
	session *Session

	mu         sync.Mutex
	lists      map[string]bool // kinds of components, such as tools
	updated    map[string]bool // addresses of resources
	subscribed map[string]bool // addresses of resources
	timer      *time.Timer     // nil while there is nothing to send
	began      time.Time       // when the timer was first set
	closed     bool
}

func newChanges(s *Session) *changes {
	return &changes{session: s, lists: map[string]bool{}, updated: map[string]bool{}, subscribed: map[string]bool{}}
}

// list notes that the list of a kind has changed.
func (c *changes) list(kind string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lists[kind] = true
	c.schedule()
}

// update notes that a resource has changed, if the client wants to know.
func (c *changes) update(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subscribed[uri] {
		c.updated[uri] = true
		c.schedule()
	}
}

func (c *changes) subscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribed[uri] = true
}

func (c *changes) unsubscribe(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.subscribed, uri)
	delete(c.updated, uri)
}

func (c *changes) schedule() {
	switch {
	case c.closed:
	case c.timer == nil:
		c.began = time.Now()
		c.timer = time.AfterFunc(settle, c.send)
	case time.Since(c.began) < latest-settle:
		c.timer.Reset(settle)
	}
}

// send tells the client of all that has gathered and concerns it.
func (c *changes) send() {
	c.mu.Lock()
	lists, updated := slices.Sorted(maps.Keys(c.lists)), slices.Sorted(maps.Keys(c.updated))
	clear(c.lists)
	clear(c.updated)
	c.timer = nil
	closed := c.closed
	c.mu.Unlock()
	// A client that is not there yet, or not any more, has no use for it.
	if closed || c.session.State() != Operating {
		return
	}
	ctx := context.Background()
	for _, kind := range lists {
		if c.session.offers(kind) {
			c.session.notify(ctx, "notifications/"+kind+"/list_changed", nil)
		}
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
