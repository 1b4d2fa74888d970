package serve

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"
)

func TestGCPercent(t *testing.T) {
	for _, test := range []struct {
		live uint64
		want uint64
	}{
		{0, 1600}, {1, 1600}, {4 << 20, 1600}, {4<<20 + 1, 800}, {12 << 20, 533}, {32 << 20, 200}, {64 << 20, 100}, {1 << 40, 100},
	} {
		if got := gcPercent(test.live); got != test.want {
			t.Errorf("gcPercent(%d) = %d, want %d", test.live, got, test.want)
		}
	}
}

// tuneGC leaves the GC percent alone if GOGC or the program has set it.
func TestTuneGC(t *testing.T) {
	for _, test := range []struct {
		name, variable string
		before         int
		tunes          bool
	}{
		{"default", "", 100, true},
		{"GOGC", "off", 100, false},
		{"SetGCPercent", "", 123, false},
		{"GC off", "", -1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				original := debug.SetGCPercent(test.before)
				defer debug.SetGCPercent(original)
				t.Setenv("GOGC", test.variable)
				ctx, end := context.WithCancel(t.Context())
				go tuneGC(ctx)
				synctest.Wait()
				if got, tuned := gogc(), gogc() != int64(test.before); tuned != test.tunes {
					t.Errorf("while serving, the GC percent is %d, want another than %d: %v", got, test.before, test.tunes)
				}
				end()
				synctest.Wait()
				if got := gogc(); got != int64(test.before) {
					t.Errorf("after serving, the GC percent is %d, want %d", got, test.before)
				}
			})
		})
	}
}

// tuneGC stops once the program sets the GC percent.
func TestTuneGCStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		original := debug.SetGCPercent(100)
		defer debug.SetGCPercent(original)
		t.Setenv("GOGC", "")
		go tuneGC(t.Context())
		synctest.Wait()
		debug.SetGCPercent(123)
		time.Sleep(2 * time.Second)
		if got := gogc(); got != 123 {
			t.Errorf("the GC percent is %d, want 123", got)
		}
	})
}

// gogc returns the GC percent, or -1 if the GC is off.
func gogc() int64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}
