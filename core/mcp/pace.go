package mcp

import (
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/jsonrpc"
)

const (
	// quickCall is how long a call may take for it to be worth no goroutine of its own.
	quickCall = 20 * time.Microsecond
	// provenAfter is how many quick calls in a row make a handler a quick one.
	provenAfter = 3
	// timedEvery is how many calls of a quick one go by for each that is timed. One that takes
	// very long is noticed anyway.
	timedEvery = 16
)

// A pace remembers whether a handler has been quick of late. One that has runs where its
// request was read, which is the fastest there is. Any other has the next message read beside it
// at once. A quick one that turns out slow keeps others waiting for a moment, that one time, and
// has to prove itself again.
type pace struct {
	quick atomic.Uint32 // calls in a row
	calls atomic.Uint32 // since it has been a quick one
}

// begin is called right before the handler, and end right after it with what begin returned.
func (p *pace) begin(req *jsonrpc.Request) (began time.Time) {
	if req.Responder() != nil {
		return time.Time{} // it holds up nobody
	}
	if p.quick.Load() < provenAfter {
		req.Release()
		return time.Now()
	}
	if p.calls.Add(1)%timedEvery == 0 {
		return time.Now()
	}
	return time.Time{}
}

func (p *pace) end(req *jsonrpc.Request, began time.Time) {
	switch {
	case req.Responder() != nil, began.IsZero() && !req.Released():
	case began.IsZero() || time.Since(began) > quickCall:
		p.quick.Store(0)
	case p.quick.Load() < provenAfter:
		p.quick.Add(1)
	}
}
