package serve

import (
	"context"
	"runtime/debug"
	"testing"
)

func TestGCPercent(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want int
	}{
		{0, 1600}, {1, 1600}, {4 << 20, 1600}, {4<<20 + 1, 800}, {12 << 20, 533}, {32 << 20, 200}, {64 << 20, 100}, {1 << 40, 100},
	} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("gcPercent(%d) = %d, want %d", test.live, got, test.want)
		}
	}
}

// The variable GOGC takes precedence over tuneGC.
func TestTuneGC(t *testing.T) {
	const before = 123
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	ended, end := context.WithCancel(t.Context())
	end()
	t.Setenv("GOGC", "off")
	tuneGC(ended)
	if got := debug.SetGCPercent(before); got != before {
		t.Errorf("with GOGC, the GC percent is %d, want %d", got, before)
	}
	t.Setenv("GOGC", "")
	tuneGC(ended)
	if got := debug.SetGCPercent(before); got < 100 || got > 1600 || got == before {
		t.Errorf("without GOGC, the GC percent is %d, want one from 100 to 1600", got)
	}
}
