package client

import (
	"fmt"

	"github.com/petrock/petrock/core/jsonrpc"
)

// Limits on what a server can make the client keep. [Options] has those that can be changed.
const (
	maxPages   = 1000      // of a list
	maxEntries = 100_000   // of a list, on all pages
	maxList    = 32 << 20  // bytes of a list, on all pages
	maxValues  = 1_000_000 // JSON values in one message
	maxHeld    = 100       // requests and notifications that are being handled
)

// limitf returns the error of a server that exceeds a limit.
func limitf(format string, args ...any) error {
	return fmt.Errorf("the server exceeds a limit of this client: "+format, args...)
}

// checkValues refuses a message that would take far more memory than it has bytes.
func checkValues(what string, raw []byte) error {
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
		return limitf("%s has more than %d JSON values", short(what), maxValues)
	}
	return nil
}

// hold counts a message of the server that is handled while later ones are read. It reports whether
// their number and size are within the limits. release ends it.
func (c *Client) hold(req *jsonrpc.Request) (within bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
	c.heldBytes += len(req.Params)
	return c.held <= maxHeld && c.heldBytes <= c.o.MaxMessage
}

func (c *Client) release(req *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held--
	c.heldBytes -= len(req.Params)
}

// countNotification ends the connection after [Options].MaxNotifications.
func (c *Client) countNotification() {
	if c.o.MaxNotifications > 0 && c.notified.Add(1) > int64(c.o.MaxNotifications) && !c.tooMany.Swap(true) {
		c.conn.FailCalls()
	}
}
