package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/petrock/petrock/bench/internal/eras"
)

// A server is a program to measure.
type server struct {
	name   string   // also its folder below servers
	path   string   // of the binary
	args   []string // nil means mcp
	dir    string   // working directory
	builds bool     // it is petrock dev, which builds when it starts
}

// needsEraFlag reports whether the server needs a flag for the stateless era: a handler of the Go
// SDK serves one era only.
func (s server) needsEraFlag() bool { return s.name == "gosdk" }

// build compiles all servers into dir.
func build(ctx context.Context, dir string) ([]server, error) {
	args := []string{"build", "-trimpath", "-o", dir + string(filepath.Separator)}
	var servers []server
	for _, name := range []string{"ours", "gosdk", "mcpgo", "floor", "httpfloor", "relay"} {
		args = append(args, "github.com/petrock/petrock/bench/servers/"+name)
		servers = append(servers, server{name: name, path: filepath.Join(dir, name)})
	}
	return servers, command(ctx, ".", "go", args...)
}

// command runs a program, which must succeed.
func command(ctx context.Context, dir, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "PWD="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", program, args, err, out)
	}
	return nil
}

// named returns the servers with these names, in the order of the round.
func (b *bench) named(round int, names ...string) []server {
	var all []server
	for _, s := range b.servers {
		if slices.Contains(names, s.name) {
			all = append(all, s)
		}
	}
	return rotated(all, round)
}

// measureStdio measures calls per second with 64 calls in flight, and the time of one call at a
// time.
func measureStdio(ctx context.Context, b *bench, round int, r results) error {
	for _, s := range b.named(round, "ours", "gosdk", "mcpgo") {
		l, err := measureLoad(ctx, s, b.options.time, inFlight)
		if err != nil {
			return err
		}
		r.add("pipelined", s.name, l.perSecond())
	}
	return measureSequential(ctx, b, b.named(0, "ours", "floor"), round, "sequential", r)
}

// measureSequential measures the time of one call at a time. It is the best of five runs, each with
// a new process: the time depends on the CPUs that client and server happen to run on, and processes
// tend to stay on theirs.
func measureSequential(ctx context.Context, b *bench, servers []server, round int, figure string, r results) error {
	const runs = 5
	times := map[string][]float64{}
	for i := range runs {
		for _, s := range rotated(servers, round+i) {
			l, err := measureLoad(ctx, s, b.options.time/2, 1)
			if err != nil {
				return err
			}
			times[s.name] = append(times[s.name], l.elapsed.Seconds()/float64(l.calls))
		}
	}
	for name, all := range times {
		r.add(figure, name, slices.Min(all))
	}
	return nil
}

func measureEras(ctx context.Context, b *bench, round int, r results) error {
	for _, era := range eras.All() {
		rates, err := measureHTTP(ctx, b.named(round, "ours", "mcpgo", "httpfloor"), era, b.options.time)
		if err != nil {
			return err
		}
		for name, rate := range rates {
			r.add(era.Name, name, rate)
		}
	}
	return nil
}

// A load is a number of calls and the time they took.
type load struct {
	calls   int
	elapsed time.Duration // without start and warm-up
}

func (l load) perSecond() float64 { return float64(l.calls) / l.elapsed.Seconds() }
