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
	before, err := readCPUUsage()
	if err != nil {
		return nil, err
	}
	for i := range o.rounds {
		begun := time.Now()
		if err := measureRound(ctx, r, rotated(servers, i)); err != nil {
			return nil, err
		}
		after, err := readCPUUsage()
		if err != nil {
			return nil, err
		}
		r.others = append(r.others, after.others(before))
		fmt.Fprintf(progress, "round %d of %d: %.0fs, others used %.0f %% of the CPUs\n", i+1, o.rounds, time.Since(begun).Seconds(), 100*r.others[i])
		before = after
	}
	return r, nil
}

// rotated returns servers from the n-th on, and then those before it.
func rotated(servers []server, n int) []server {
	n %= len(servers)
	return append(servers[n:len(servers):len(servers)], servers[:n]...)
}

// measureRound takes every figure of every server once. What is compared is measured
// close together: figure by figure, and within one, server by server.
func measureRound(ctx context.Context, r *results, servers []server) error {
	o := r.options
	for _, s := range servers {
		r.add(s.name, size, float64(s.size)/1e6)
	}
	startCPU, err := measureStarts(ctx, r, servers)
	if err != nil {
		return err
	}
	for _, s := range servers {
		l, err := measureLoad(ctx, s, o.time, 1)
		if err != nil {
			return err
		}
		r.add(s.name, sequential, microseconds(l.elapsed)/float64(l.calls))
		r.add(s.name, cpuSequential, l.cpuPerCall(startCPU[s.name]))
	}
	for _, s := range servers {
		l, err := measureLoad(ctx, s, o.time, inFlight)
		if err != nil {
			return err
		}
		r.add(s.name, pipelined, float64(l.calls)/l.elapsed.Seconds()/1e3)
		r.add(s.name, cpuPipelined, l.cpuPerCall(startCPU[s.name]))
		r.add(s.name, peak, float64(l.peak)/1e6)
	}
	for _, in := range situations {
		for _, s := range servers {
			samples, err := measureLatency(ctx, s, in, o)
			if err != nil {
				return err
			}
			r.addLatency(s.name, in.name, samples)
		}
	}
	return nil
}

// measureStarts starts the servers in turn, many times. It returns how much CPU time, in
// µs, a process of each takes that makes no calls.
func measureStarts(ctx context.Context, r *results, servers []server) (map[string]float64, error) {
	ready, cpu := map[string][]float64{}, map[string][]float64{}
	for i := range r.options.starts {
		for _, s := range rotated(servers, i) {
			one, err := measureStart(ctx, s)
			if err != nil {
				return nil, err
			}
			ready[s.name] = append(ready[s.name], milliseconds(one.ready))
			cpu[s.name] = append(cpu[s.name], microseconds(one.cpu))
		}
	}
	startCPU := map[string]float64{}
	for _, s := range servers {
		r.add(s.name, startTime, median(ready[s.name]))
		startCPU[s.name] = median(cpu[s.name])
	}
	return startCPU, nil
}

// cpuPerCall is the CPU time of a call in µs, given that of a process without calls.
func (l load) cpuPerCall(start float64) float64 {
	return (microseconds(l.cpu) - start) / float64(l.total)
}
