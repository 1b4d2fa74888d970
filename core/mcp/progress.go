package mcp

import (
	"context"
	"math"
	"sync"

	"github.com/petrock/petrock/core/jsonrpc"
)

// progress is what a client has been told about a call that it wants to follow.
type progress struct {
	token jsonrpc.ID

	mu   sync.Mutex
	any  bool
	last float64
}

type progressParams struct {
	Token    jsonrpc.ID `json:"progressToken"`
	Progress float64    `json:"progress"`
	Total    float64    `json:"total,omitempty"`
	Message  string     `json:"message,omitempty"`
}

// Progress tells the client how far the call that ctx belongs to has come: done of
// total, or of an unknown total if that is 0, with a message that may be empty. It
// does nothing if the client did not ask, if done is not more than the last
// time, or if the call is over.
func Progress(ctx context.Context, done, total float64, message string) {
	c := CallFrom(ctx)
	if c == nil || c.progress == nil || math.IsNaN(done-total) || math.IsInf(done-total, 0) {
		return
	}
	p := c.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.any && done <= p.last {
		return
	}
	if c.Revision < Revision20250326 {
		message = ""
	}
	if c.tell("notifications/progress", progressParams{p.token, done, total, message}) {
		p.any, p.last = true, done
	}
}
