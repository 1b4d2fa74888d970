// Package pace finds out whether a function is quick enough to run on the goroutine that reads
// requests. It measures the function instead of asking its author.
package pace

import (
	"sync/atomic"
	"time"
)

const (
	// quickCall is the longest duration of a quick call.
	quickCall = 20 * time.Microsecond
	// provenAfter is the number of quick calls in a row that make a function quick.
	provenAfter = 3
	// One call in timedEvery of a quick function is timed, because reading the clock costs as much
	// as decoding small arguments.
	timedEvery = 16
)

// A Pace measures one function. The function counts as quick after provenAfter quick calls, and as
// slow again after one slow call. The zero value is ready to use; the function counts as slow.
type Pace struct {
	quick atomic.Uint32 // quick calls in a row, up to provenAfter
	calls atomic.Uint32 // calls since the function became quick
}

// Begin is called right before the function. It reports whether the function is quick, and returns
// when the call began, or the zero time if the call is not timed.
func (p *Pace) Begin() (isQuick bool, began time.Time) {
	if p.quick.Load() < provenAfter {
		return false, time.Now()
	}
	if p.calls.Add(1)%timedEvery == 0 {
		return true, time.Now()
	}
	return true, time.Time{}
}

// End is called after the function, with the time from Begin. wasSlow means that the caller has
// noticed that the call takes long, even if it is not timed.
func (p *Pace) End(began time.Time, wasSlow bool) {
	switch {
	case began.IsZero() && !wasSlow:
	case began.IsZero() || time.Since(began) > quickCall:
		p.quick.Store(0)
	case p.quick.Load() < provenAfter:
		p.quick.Add(1)
	}
}
