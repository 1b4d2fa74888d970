package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
)

// The phases of a load.
const (
	warmUp = iota
	counted
	over
)

// measureHTTPLoad calls add on a fresh server for about d, after a quarter of that to warm up, by
// so many clients at once, each with a connection and, where the era has them, a session of its own.
func measureHTTPLoad(ctx context.Context, s server, era eras.Era, d time.Duration, clients int) (load, error) {
	idle, err := idleCPU(ctx, s, era, clients)
	if err != nil {
		return load{}, err
	}
	doing := fmt.Sprintf("%d clients call add (%s)", clients, era.Name)
	p, callers, err := connectCallers(ctx, s, era, doing, d+d/4+patience, clients)
	if err != nil {
		return load{}, err
	}
	l, err := callFor(d, callers)
	if err != nil {
		return load{}, p.failed(err)
	}
	if l.peak, err = peakMemory(p.cmd.Process.Pid); err != nil {
		p.kill()
		return load{}, err
	}
	for _, c := range callers {
		c.conn.Close()
		l.total += c.calls
	}
	state, err := p.stop()
	if err != nil {
		return load{}, err
	}
	l.cpu = cpuTime(state) - idle
	return l, nil
}

// idleCPU is what a server computes that is started, greeted by so many clients, and ended.
func idleCPU(ctx context.Context, s server, era eras.Era, clients int) (time.Duration, error) {
	p, callers, err := connectCallers(ctx, s, era, "starting", patience, clients)
	if err != nil {
		return 0, err
	}
	for _, c := range callers {
		c.conn.Close()
	}
	state, err := p.stop()
	if err != nil {
		return 0, err
	}
	return cpuTime(state), nil
}

// connectCallers starts a server and connects clients to it.
func connectCallers(ctx context.Context, s server, era eras.Era, doing string, limit time.Duration, clients int) (*served, []*caller, error) {
	p, err := serve(ctx, s, era, doing, limit)
	if err != nil {
		return nil, nil, err
	}
	callers := make([]*caller, clients)
	for i := range callers {
		if callers[i], err = newCaller(p, era, i); err != nil {
			return nil, nil, err // which has killed it
		}
	}
	return p, callers, nil
}

// callFor lets all callers call, and counts the calls of d. One alone decodes what it gets.
func callFor(d time.Duration, callers []*caller) (load, error) {
	var phase atomic.Int32
	var all sync.WaitGroup
	counts, errs := make([]int, len(callers)), make(chan error, len(callers))
	for i, c := range callers {
		all.Go(func() {
			for now := phase.Load(); now != over; now = phase.Load() {
				err := c.call(len(callers) == 1)
				if err == nil {
					err = c.check()
				}
				if err != nil {
					errs <- err
					return
				}
				if now == counted {
					counts[i]++
				}
			}
		})
	}
	time.Sleep(d / 4)
	begun := time.Now()
	phase.Store(counted)
	time.Sleep(d)
	l := load{elapsed: time.Since(begun)}
	phase.Store(over)
	all.Wait()
	for _, n := range counts {
		l.calls += n
	}
	close(errs)
	return l, <-errs
}
