package mcp

import (
	"sync/atomic"
	"time"
)

const (
	// quickCall is the longest duration of a call that is not worth a goroutine of its own.
	quickCall = 20 * time.Microsecond
	// provenAfter is how many quick calls in a row make a handler a quick one.
	provenAfter = 3
	// timedEvery is how many calls of a quick handler there are for one that is timed: reading the clock costs as much as
	// decoding small arguments. A call that takes very long is noticed anyway, see jsonrpc.turnTimer.
	timedEvery = 16
)

// A pace remembers whether a handler has been quick lately. A quick handler runs on the goroutine that reads, which is the
// fastest way. Any other one releases its request at once, so that the next message is read meanwhile. A quick handler that
// turns slow delays the next message once, and is not quick until it has proven it again. See turn.go in package jsonrpc.
type pace struct {
	quick atomic.Uint32 // calls in a row
	calls atomic.Uint32 // since it has been a quick one
}

// begin is called right before the handler, and end right after it with what begin returned.
func (p *pace) begin(c *Call) (began time.Time) {
	if c.responder != nil {
		return time.Time{} // other calls do not wait for this one
	}
	if p.quick.Load() < provenAfter {
		c.req.Release()
		return time.Now()
	}
	if p.calls.Add(1)%timedEvery == 0 {
		return time.Now()
	}
	return time.Time{}
}

func (p *pace) end(c *Call, began time.Time) {
	switch {
	case c.responder != nil, began.IsZero() && !c.req.Released():
	case began.IsZero() || time.Since(began) > quickCall:
		p.quick.Store(0)
	case p.quick.Load() < provenAfter:
		p.quick.Add(1)
	}
}
