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

// A kind is a way in which clients behave.
type kind struct {
	name  string
	share int // of so many in all
	turn  func(*client) error
}

// kinds are all of them. Those who disconnect and those who read slowly may see any error; they
// return none.
func kinds() []kind {
	return []kind{
		{"sessions", 96, (*client).session},
		{"stateless calls", 80, (*client).stateless},
		{"listeners", 38, (*client).listener},
		{"disconnecting", 26, (*client).disconnect},
		{"slow readers", 16, (*client).slow},
	}
}

// soak lets all clients go on for their time, and then waits for the server to be as it was.
func soak(ctx context.Context, o options, progress io.Writer) (*report, error) {
	s, err := start(ctx, o.program)
	if err != nil {
		return nil, err
	}
	defer s.cmd.Process.Kill()
	r := newReport(o)
	if r.start, err = s.holding(); err != nil {
		return nil, err
	}
	// What is made once is no growth: Go keeps the descriptor of a goroutine that has ended for another one, and a map
	// the room that it once needed. So as many clients come once before.
	first := options{clients: o.clients, time: min(o.time/4, 10*time.Second), seed: o.seed + 1}
	crowd(ctx, s, first, newReport(first))
	if r.before, err = s.settled(ctx); err != nil {
		return nil, err
	}
	r.residentBefore = s.resident()
	watched := watch(ctx, s, r)
	crowd(ctx, s, o, r)
	watched()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	fmt.Fprintln(progress, "all clients have gone; waiting for the server to be as it was")
	if r.after, err = s.settled(ctx); err != nil {
		return nil, err
	}
	r.residentAfter = s.resident()
	return r, s.stop()
}

// crowd runs all clients until the time is over.
func crowd(ctx context.Context, s *server, o options, r *report) {
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

// settled waits until what the server holds has not become less for longer than a session may be idle, and returns
// what that is.
func (s *server) settled(ctx context.Context) (front.Holding, error) {
	var least front.Holding
	for since := time.Now(); ; {
		h, err := s.holding()
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

// watch takes down the most memory that the server has, until the function that it returns is called.
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
