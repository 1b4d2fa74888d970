package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"
)

// inFlight is how many calls are under way in the pipelined measurement.
const inFlight = 64

// slicesOfRound is in how many pieces the sequential measurement of a round is cut, and each over HTTP.
const slicesOfRound = 5

// measure builds the servers and measures them, round by round, and leaves nothing behind.
func measure(ctx context.Context, o options, progress io.Writer) (*results, error) {
	dir, err := os.MkdirTemp("", "petrock-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(progress, "building the servers …")
	servers, err := build(ctx, dir, o.only)
	if err != nil {
		return nil, err
	}
	r := newResults(o, servers)
	for _, s := range servers {
		r.add(s.name, size, float64(s.size)/1e6)
	}
	quiet := &quiet{left: o.quiet}
	for i := range o.rounds {
		begun := time.Now()
		var others share
		for _, step := range o.suite().steps() {
			one, used, err := quiet.run(ctx, func() (*results, error) {
				one := newResults(o, servers)
				return one, step(ctx, one, rotated(servers, i))
			})
			if err != nil {
				return nil, err
			}
			r.merge(one)
			others = others.plus(used)
		}
		r.others = append(r.others, others.of())
		fmt.Fprintf(progress, "round %d of %d: %.0fs, others used %.0f %% of the CPUs\n", i+1, o.rounds, time.Since(begun).Seconds(), 100*others.of())
	}
	return r, nil
}

// rotated returns what is in a list from the n-th on, and then what is before it.
func rotated[T any](list []T, n int) []T {
	n %= len(list)
	return append(list[n:len(list):len(list)], list[:n]...)
}

// A step takes some figures of every server, once. What is compared is measured within
// one step, server after server, and so close together.
type step func(ctx context.Context, r *results, servers []server) error

// steps are what a round over stdio consists of.
func steps() []step {
	all := []step{measureStarts, measureSequential, measurePipelined}
	for _, in := range situations {
		all = append(all, func(ctx context.Context, r *results, servers []server) error {
			for _, s := range servers {
				samples, err := measureLatency(ctx, s, in, r.options)
				if err != nil {
					return err
				}
				r.addLatency(s.name, in.name, samples)
			}
			return nil
		})
	}
	return all
}

// measureStarts starts the servers in turn, many times.
func measureStarts(ctx context.Context, r *results, servers []server) error {
	ready := map[string][]float64{}
	for i := range r.options.starts {
		for _, s := range rotated(servers, i) {
			one, err := measureStart(ctx, s)
			if err != nil {
				return err
			}
			ready[s.name] = append(ready[s.name], milliseconds(one.ready))
		}
	}
	for _, s := range servers {
		r.add(s.name, startTime, median(ready[s.name]))
	}
	return nil
}

// measureSequential measures in slices, each with a fresh process: how fast two processes
// take turns depends on which CPUs they happen to run on, and they tend to stay there.
func measureSequential(ctx context.Context, r *results, servers []server) error {
	slices := newResults(r.options, servers)
	for i := range slicesOfRound {
		for _, s := range rotated(servers, i) {
			l, err := measureLoad(ctx, s, r.options.time/slicesOfRound, 1)
			if err != nil {
				return err
			}
			slices.add(s.name, sequential, microseconds(l.elapsed)/float64(l.calls))
			slices.add(s.name, cpuSequential, l.cpuPerCall())
		}
	}
	for _, s := range servers {
		r.add(s.name, sequential, median(slices.of(s.name, sequential)))
		r.add(s.name, cpuSequential, median(slices.of(s.name, cpuSequential)))
	}
	return nil
}

func measurePipelined(ctx context.Context, r *results, servers []server) error {
	for _, s := range servers {
		l, err := measureLoad(ctx, s, r.options.time, inFlight)
		if err != nil {
			return err
		}
		r.add(s.name, pipelined, float64(l.calls)/l.elapsed.Seconds()/1e3)
		r.add(s.name, cpuPipelined, l.cpuPerCall())
		r.add(s.name, peak, float64(l.peak)/1e6)
	}
	return nil
}
