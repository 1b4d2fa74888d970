package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/petrock/petrock/bench/internal/front"
)

// A kind is a behaviour of clients.
type kind struct {
	name  string
	share int // relative to the others
	turn  func(*client) error
}

// kinds returns all kinds. Clients that disconnect or read slowly ignore errors.
func kinds() []kind {
	return []kind{
		{"sessions", 96, (*client).session},
		{"stateless calls", 80, (*client).stateless},
		{"listeners", 38, (*client).listener},
		{"disconnecting", 26, (*client).disconnect},
		{"slow readers", 16, (*client).slow},
	}
}

// soak runs all clients for o.time, and then waits until the server has released its resources.
func soak(ctx context.Context, o options, progress io.Writer) (*report, error) {
	s, err := start(ctx, o.program)
	if err != nil {
		return nil, err
	}
	defer s.cmd.Process.Kill()
	r := newReport(o)
	if r.start, err = s.usage(); err != nil {
		return nil, err
	}
	// The warm-up has as many clients as the soak, because Go reuses the descriptors of goroutines
	// and maps keep their capacity: the first clients always increase the memory of the server.
	first := options{clients: o.clients, time: min(o.time/4, 10*time.Second), seed: o.seed + 1}
	runClients(ctx, s, first, newReport(first))
	if r.before, err = s.waitSettled(ctx); err != nil {
		return nil, err
	}
	r.residentBefore = s.resident()
	watched := watch(ctx, s, r)
	runClients(ctx, s, o, r)
	watched()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "all clients have disconnected; waiting for the server to release its resources")
	if r.after, err = s.waitSettled(ctx); err != nil {
		return nil, err
	}
	r.residentAfter = s.resident()
	return r, s.stop()
}

// runClients runs all clients for o.time.
func runClients(ctx context.Context, s *server, o options, r *report) {
	ctx, cancel := context.WithTimeout(ctx, o.time)
	defer cancel()
	total := 0
	for _, k := range kinds() {
		total += k.share
	}
	var all sync.WaitGroup
	for i := range o.clients {
		k := kindOf(i * total / o.clients)
		c := &client{number: i, addr: s.addr, ctx: ctx, report: r, kind: k.name, dice: rand.New(rand.NewPCG(o.seed, uint64(i)))}
		r.clients[k.name]++
		all.Go(func() {
			defer c.hangUp()
			for ctx.Err() == nil {
				if err := k.turn(c); err != nil {
					r.fault(fmt.Errorf("client %d (%s): %w", c.number, k.name, err))
					c.hangUp()
				}
				c.pause(50 * time.Millisecond)
			}
		})
	}
	all.Wait()
}

// kindOf returns the kind of the i-th of all clients.
func kindOf(i int) kind {
	all := kinds()
	for _, k := range all {
		if i < k.share {
			return k
		}
		i -= k.share
	}
	return all[0]
}

// waitSettled waits until the server's use of resources has not decreased for longer than
// idleSession, and returns it.
func (s *server) waitSettled(ctx context.Context) (front.Usage, error) {
	var least front.Usage
	for since := time.Now(); ; {
		h, err := s.usage()
		if err != nil {
			return h, err
		}
		const noise = 16 << 10
		if least.Goroutines == 0 || h.Goroutines < least.Goroutines || h.Heap+noise < least.Heap {
			least, since = h, time.Now()
		}
		if time.Since(since) > idleSession*3/2 {
			return least, nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return h, ctx.Err()
		}
	}
}

// watch records the maximum memory of the server until stop is called.
func watch(ctx context.Context, s *server, r *report) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			r.residentMost = max(r.residentMost, s.resident())
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
