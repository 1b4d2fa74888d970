package pace

import (
	"testing"
	"testing/synctest"
	"time"
)

// A function is quick after three quick calls in a row, until a call takes long or is said to.
func TestPace(t *testing.T) {
	type call struct {
		takes   time.Duration
		wasSlow bool
		want    bool // the function was quick when the call began
	}
	quick := call{want: true}
	proving := []call{{}, {}, {}, quick}
	for name, calls := range map[string][]call{
		"a slow call starts over":         {{}, {}, {takes: time.Millisecond}, {}, {}, {}, quick},
		"the caller notices":              append(proving, call{takes: time.Millisecond, wasSlow: true, want: true}, call{}),
		"a call that is not timed":        append(proving, call{takes: time.Millisecond, want: true}, quick),
		"a timed call counts by its time": {{wasSlow: true}, {wasSlow: true}, {wasSlow: true}, quick},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p Pace
				for i, c := range calls {
					got, began := p.Begin()
					if got != c.want {
						t.Errorf("call %d: Begin() = %t, want %t", i+1, got, c.want)
					}
					time.Sleep(c.takes)
					p.End(began, c.wasSlow)
				}
			})
		})
	}
}

// One in timedEvery calls of a quick function is timed, so a function that becomes slow is found.
func TestSlowCallIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pace
		calls := 0
		for isQuick := true; isQuick || calls <= provenAfter; calls++ {
			var began time.Time
			isQuick, began = p.Begin()
			if calls >= provenAfter {
				time.Sleep(time.Millisecond)
			}
			p.End(began, false)
			if calls > 100 {
				t.Fatal("the function still counts as quick after 100 slow calls")
			}
		}
		if most := provenAfter + timedEvery + 1; calls > most {
			t.Errorf("the function counted as slow after %d calls, want at most %d", calls, most)
		}
	})
}
