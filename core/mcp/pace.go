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
)

// A pace remembers whether a handler has been quick of late. One that has runs where its
// request was read, which is the fastest there is. Any other has the next message read beside it
// at once. A quick one that turns out slow keeps others waiting for a moment, that one time, and
// has to prove itself again.
type pace struct {
	quick atomic.Int32 // calls in a row
}

// begin is called right before the handler, and end right after it with what begin returned.
func (p *pace) begin(req *jsonrpc.Request) time.Time {
	if p.quick.Load() < provenAfter {
		req.Release()
	}
	return time.Now()
}

func (p *pace) end(began time.Time) {
	switch n := p.quick.Load(); {
	case time.Since(began) > quickCall:
		p.quick.Store(0)
	case n < provenAfter:
		p.quick.Store(n + 1)
	}
}
