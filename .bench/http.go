package main

import (
	"context"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
)

// The names of figures over HTTP. Those that are taken in both eras have the era's name before them.
const (
	httpSequential    = "_sequential_us"
	httpMany          = "_kcalls"
	httpCPU           = "_cpu_us"
	httpCPUSequential = "_cpu_sequential_us"
	sessionsRSS       = "sessions_mb"
	sessionsFree      = "sessions_collected_mb"
	streamsRSS        = "streams_mb"
	streamsFree       = "streams_collected_mb"
)

// httpFigures are the rows of the table over HTTP.
func httpFigures() []row {
	var rows []row
	for _, era := range eras.All() {
		in := ", " + era.Version
		rows = append(rows,
			row{era.Name + httpSequential, "sequential, µs a call" + in},
			row{era.Name + httpMany, "64 clients, thousand calls a second" + in},
			row{era.Name + httpCPU, "CPU with 64 clients, µs a call" + in},
			row{era.Name + httpCPUSequential, "CPU sequential, µs a call" + in},
		)
	}
	return append(rows,
		row{sessionsRSS, "memory with 1,000 sessions, MB"},
		row{sessionsFree, "the same, garbage collected, MB"},
		row{streamsRSS, "memory with a stream for each, MB"},
		row{streamsFree, "the same, garbage collected, MB"},
		row{peak, "peak memory with 64 clients, MB"},
		row{size, "binary, MB"},
	)
}

// httpTargets are what petrock wants to reach over HTTP.
func httpTargets() []target {
	var all []target
	for _, era := range eras.All() {
		in := ", " + era.Version
		all = append(all,
			target{name: era.Name + "_mcpgo", title: "calls a second ÷ mcp-go" + in, figure: against(era.Name+httpMany, "mcpgo"), least: true, bound: 1.6, unit: "×"},
			target{name: era.Name + "_floor", title: "calls a second ÷ floor" + in, figure: against(era.Name+httpMany, "httpfloor"), least: true, bound: 0.8, unit: "×"},
			target{name: era.Name + "_sequential_floor", title: "sequential time a call ÷ floor" + in, figure: against(era.Name+httpSequential, "httpfloor"), bound: 1.3, unit: "×"},
			target{name: era.Name + "_cpu_mcpgo", title: "CPU a call ÷ mcp-go" + in, figure: against(era.Name+httpCPU, "mcpgo"), bound: 0.45, unit: "×"},
		)
	}
	for _, f := range []struct{ name, title string }{
		{sessionsRSS, "memory, 1,000 sessions"}, {sessionsFree, "the same, collected"},
		{streamsRSS, "memory, 1,000 streams"}, {streamsFree, "the same, collected"},
	} {
		for _, peer := range []struct{ name, title string }{{"mcpgo", "mcp-go"}, {"gosdk", "Go SDK"}} {
			all = append(all, target{name: f.name + "_" + peer.name, title: f.title + " ÷ " + peer.title, figure: against(f.name, peer.name), bound: 1, below: true, unit: "×"})
		}
	}
	return all
}

// httpSteps are what a round over HTTP consists of.
func httpSteps() []step {
	var all []step
	for _, era := range eras.All() {
		all = append(all,
			func(ctx context.Context, r *results, servers []server) error { return httpOne(ctx, r, servers, era) },
			func(ctx context.Context, r *results, servers []server) error {
				return httpTogether(ctx, r, servers, era)
			},
		)
	}
	return append(all, func(ctx context.Context, r *results, servers []server) error {
		for _, s := range servers {
			if s.name == "httpfloor" {
				continue // has no sessions
			}
			if err := measureSessions(ctx, s, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// httpOne measures one client, in slices with a process each: see measureSequential.
func httpOne(ctx context.Context, r *results, servers []server, era eras.Era) error {
	slices := newResults(r.options, servers)
	for i := range slicesOfRound {
		for _, s := range rotated(servers, i) {
			l, err := measureHTTPOne(ctx, s, era, r.options.time/slicesOfRound)
			if err != nil {
				return err
			}
			slices.add(s.name, sequential, microseconds(l.elapsed)/float64(l.calls))
			slices.add(s.name, cpuSequential, l.cpuPerCall())
		}
	}
	for _, s := range servers {
		r.add(s.name, era.Name+httpSequential, median(slices.of(s.name, sequential)))
		r.add(s.name, era.Name+httpCPUSequential, median(slices.of(s.name, cpuSequential)))
	}
	return nil
}

// httpTogether measures many clients, in slices too: what is compared is close together on a machine whose speed changes. The
// processes are the same in all slices, and those that are not called do nothing.
func httpTogether(ctx context.Context, r *results, servers []server, era eras.Era) error {
	loads := make([]*httpLoad, 0, len(servers))
	defer func() {
		for _, l := range loads {
			l.kill()
		}
	}()
	for _, s := range servers {
		l, err := startHTTPLoad(ctx, s, era, time.Duration(len(servers))*(2*r.options.time+patience), inFlight)
		if err != nil {
			return err
		}
		loads = append(loads, l)
	}
	for i := range slicesOfRound {
		for _, l := range rotated(loads, i) {
			if err := l.call(r.options.time / slicesOfRound); err != nil {
				return err
			}
		}
	}
	for i, s := range servers {
		l, err := loads[i].end()
		if err != nil {
			return err
		}
		r.add(s.name, era.Name+httpMany, float64(l.calls)/l.elapsed.Seconds()/1e3)
		r.add(s.name, era.Name+httpCPU, l.cpuPerCall())
		if era.Sessions() {
			r.add(s.name, peak, float64(l.peak)/1e6)
		}
	}
	return nil
}
