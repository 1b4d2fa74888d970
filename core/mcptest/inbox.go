package mcptest

import (
	"encoding/json"
	"sync"
	"time"
)

// A Notification is something that the server said unasked.
type Notification struct {
	Method string
	Params json.RawMessage
}

// patience is how long a test waits for a notification before it fails.
const patience = 10 * time.Second

// Next returns the next notification of that method, waiting for it if it has
// not come yet. Others that come before it are kept.
func (c *Client) Next(method string) Notification {
	c.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		n, more, ok := c.notifications.take(method)
		if ok {
			return n
		}
		select {
		case <-more:
		case <-timer.C:
			c.t.Fatalf("the server sent no %s within %v", method, patience)
		}
	}
}

// Received returns the notifications that have come and not been taken by Next.
func (c *Client) Received() []Notification {
	c.notifications.mu.Lock()
	defer c.notifications.mu.Unlock()
	return append([]Notification(nil), c.notifications.list...)
}

// An inbox keeps notifications until they are asked for.
type inbox struct {
	mu   sync.Mutex
	list []Notification
	more chan struct{} // closed when one comes
}

func newInbox() *inbox { return &inbox{more: make(chan struct{})} }

func (b *inbox) put(n Notification) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.list = append(b.list, n)
	close(b.more)
	b.more = make(chan struct{})
}

// take returns the first notification of that method, or a channel that tells when to look again.
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
