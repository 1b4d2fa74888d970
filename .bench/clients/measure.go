package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A figure is what one turn of a client showed.
type figure struct {
	rate   float64 // calls a second
	allocs float64 // a call, in this process
	bytes  float64 // allocated a call
	cpu    float64 // microseconds of this process a call
}

// measure has callers call at once for a while.
func measure(ctx context.Context, c caller, callers int, slice time.Duration) (figure, error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := ownCPU(), time.Now()
	var calls atomic.Int64
	var failure atomic.Pointer[error]
	var all sync.WaitGroup
	for n := range callers {
		all.Go(func() {
			for i := 0; time.Since(start) < slice && failure.Load() == nil; i++ {
				if err := checked(ctx, c, float64(n), float64(i)); err != nil {
					failure.Store(&err)
				}
				calls.Add(1)
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	spent := ownCPU() - cpu
	runtime.ReadMemStats(&after)
	if err := failure.Load(); err != nil {
		return figure{}, *err
	}
	n := float64(calls.Load())
	return figure{
		rate:   n / took.Seconds(),
		allocs: float64(after.Mallocs-before.Mallocs) / n,
		bytes:  float64(after.TotalAlloc-before.TotalAlloc) / n,
		cpu:    float64(spent.Microseconds()) / n,
	}, nil
}

// checked calls once, and holds the answer against the sum.
func checked(ctx context.Context, c caller, a, b float64) error {
	got, err := c.add(ctx, a, b)
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(`{"sum":%v}`, a+b); got != want && a+b < 1e6 {
		return fmt.Errorf("%v and %v are %s, not %s", a, b, got, want)
	}
	return nil
}

// ownCPU is what this process has spent so far.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
