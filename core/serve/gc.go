package serve

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// gcHeadroom is how many bytes the heap may grow between two collections, at least. Go collects a
// small heap whenever it has grown by 4 MiB, which is about 50 times a second under load. With 64
// MiB the HTTP server makes about 12 % more calls per second (cd .bench && go run . -only http).
const gcHeadroom = 64 << 20

// tuneGC sets the GC percent by the size of the live heap, until ctx ends. The variable GOGC takes
// precedence. A memory limit still applies: near it, Go collects more often.
func tuneGC(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for current := 0; ; {
		metrics.Read(live)
		if percent := gcPercent(live[0].Value.Uint64()); percent != current {
			debug.SetGCPercent(percent)
			current = percent
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// gcPercent returns the GC percent for a live heap: 1600 up to 4 MiB, less for a larger one, and
// Go's default of 100 from 64 MiB on, so that a server with much state does not need more memory.
// It rounds the heap up to 4 MiB, so that the percent rarely changes.
func gcPercent(live uint64) int {
	const step = 4 << 20
	steps := max(1, (live+step-1)/step)
	return int(max(100, 100*gcHeadroom/(steps*step)))
}
