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

// measureHTTPOne calls add on a fresh server for about d, after a quarter of that to warm up, by one client.
func measureHTTPOne(ctx context.Context, s server, era eras.Era, d time.Duration) (load, error) {
	l, err := startHTTPLoad(ctx, s, era, 2*d+patience, 1)
	if err != nil {
		return load{}, err
	}
	if err := l.call(d); err != nil {
		return load{}, err
	}
	return l.end()
}

// An httpLoad is a server and the clients that call it, each with a connection and, where the era has them, a session of its own.
type httpLoad struct {
	load
	served  *served
	callers []*caller
	idle    time.Duration // what it computes without calls
	over    bool
}

// startHTTPLoad starts a fresh server, which may take up to limit, and connects its clients. The caller must call end or kill.
func startHTTPLoad(ctx context.Context, s server, era eras.Era, limit time.Duration, clients int) (*httpLoad, error) {
	idle, err := idleCPU(ctx, s, era, clients)
	if err != nil {
		return nil, err
	}
	doing := fmt.Sprintf("%d clients call add (%s)", clients, era.Name)
	p, callers, err := connectCallers(ctx, s, era, doing, limit, clients)
	if err != nil {
		return nil, err
	}
	return &httpLoad{served: p, callers: callers, idle: idle}, nil
}

// call lets the clients call for about d, after a quarter of that to warm up. If it fails, the server has been killed.
func (h *httpLoad) call(d time.Duration) error {
	l, err := callFor(d, h.callers)
	if err != nil {
		h.over = true
		return h.served.failed(err)
	}
	h.calls += l.calls
	h.elapsed += l.elapsed
	return nil
}

// end ends the server, and returns what the calls came to.
func (h *httpLoad) end() (load, error) {
	var err error
	if h.peak, err = peakMemory(h.served.cmd.Process.Pid); err != nil {
		h.kill()
		return load{}, err
	}
	for _, c := range h.callers {
		c.conn.Close()
		h.total += c.calls
	}
	h.over = true
	state, err := h.served.stop()
	if err != nil {
		return load{}, err
	}
	h.cpu = cpuTime(state) - h.idle
	return h.load, nil
}

// kill ends the server, if it has not ended.
func (h *httpLoad) kill() {
	if !h.over {
		h.over = true
		h.served.kill()
	}
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

// callFor lets all callers call, and counts the calls of d.
func callFor(d time.Duration, callers []*caller) (load, error) {
	var phase atomic.Int32
	var all sync.WaitGroup
	counts, errs := make([]int, len(callers)), make(chan error, len(callers))
	for i, c := range callers {
		all.Go(func() {
			for now := phase.Load(); now != over; now = phase.Load() {
				err := c.call()
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
