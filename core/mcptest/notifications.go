package mcptest

import (
	"encoding/json"
	"sync"
	"time"
)

// A Notification is a notification of the server.
type Notification struct {
	Method string
	Params json.RawMessage
}

// nextTimeout is how long Next waits.
const nextTimeout = 10 * time.Second

// Next returns the next notification with this method. It waits for one, and keeps all others.
func (c *Client) Next(method string) Notification {
	c.t.Helper()
	timer := time.NewTimer(nextTimeout)
	defer timer.Stop()
	for {
		n, more, ok := c.notifications.take(method)
		if ok {
			return n
		}
		select {
		case <-more:
		case <-timer.C:
			c.t.Fatalf("the server sent no %s within %v", method, nextTimeout)
		}
	}
}

// Received returns the notifications that Next has not returned.
func (c *Client) Received() []Notification {
	c.notifications.mu.Lock()
	defer c.notifications.mu.Unlock()
	return append([]Notification(nil), c.notifications.list...)
}

// An inbox is a queue of notifications.
type inbox struct {
	mu   sync.Mutex
	list []Notification
	more chan struct{} // closed by put
}

func newInbox() *inbox { return &inbox{more: make(chan struct{})} }

func (b *inbox) put(n Notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, n)
	close(b.more)
	b.more = make(chan struct{})
}

// take returns the first notification with this method. If there is none, the channel is closed by the
// next put.
func (b *inbox) take(method string) (n Notification, more <-chan struct{}, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, n := range b.list {
		if n.Method == method {
			b.list = append(b.list[:i], b.list[i+1:]...)
			return n, nil, true
		}
	}
	return Notification{}, b.more, false
}
