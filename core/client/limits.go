package client

import (
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
)

// Limits for the server. [Options] has those that can be changed.
const (
	maxPages   = 1000      // per list
	maxEntries = 100_000   // per list
	maxList    = 32 << 20  // bytes per list
	maxValues  = 1_000_000 // JSON values in one message
	maxHeld    = 100       // requests and notifications being handled
)

// limitf returns the error for a server that exceeds a limit.
func limitf(format string, args ...any) error {
	return fmt.Errorf("the server exceeds a limit of this client: "+format, args...)
}

// checkValues refuses a message with so many JSON values that decoding it would take much memory.
func checkValues(name string, raw []byte) error {
	if len(raw) <= maxValues {
		return nil
	}
	n, quoted := 1, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case !quoted && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	if n > maxValues {
		return limitf("%s has more than %d JSON values", short(name), maxValues)
	}
	return nil
}

// addHeld adds n, which is 1 or -1, to the count of messages being handled. It reports whether their
// number and size are within the limits.
func (c *Client) addHeld(n int, req *jsonrpc.Request) (ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held += n
	c.heldBytes += n * len(req.Params)
	return c.held <= maxHeld && c.heldBytes <= c.o.MaxMessage
}

// countNotification closes the connection after [Options].MaxNotifications.
func (c *Client) countNotification() {
	if c.o.MaxNotifications > 0 && c.notifications.Add(1) > int64(c.o.MaxNotifications) && !c.tooManyNotifications.Swap(true) {
		c.conn.FailCalls()
	}
}
