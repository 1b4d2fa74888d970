// Bench measures petrock next to other MCP libraries, and fails if a published ratio is missed.
//
//	cd .bench && go run .
//
// See README.md for how it measures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// A gate is a published ratio: a figure of ours divided by the same figure of a peer.
type gate struct {
	title   string
	figure  string
	peer    string
	atLeast bool // or at most
	bound   float64
	exact   bool // the figure does not vary, so it may not miss the bound at all
}

// A group is a set of figures with their gates.
type group struct {
	name  string
	gates []gate
	// measure measures every figure of every server once, in a round.
	measure func(ctx context.Context, b *bench, round int, r results) error
}

func groups() []group {
	return []group{
		{"stdio", []gate{
			{title: "stdio: pipelined calls/s ÷ mcp-go", figure: "pipelined", peer: "mcpgo", atLeast: true, bound: 7},
			{title: "stdio: pipelined calls/s ÷ Go SDK", figure: "pipelined", peer: "gosdk", atLeast: true, bound: 30},
			{title: "stdio: sequential time ÷ floor", figure: "sequential", peer: "floor", bound: 1.5},
		}, measureStdio},
		{"http", []gate{
			{title: "HTTP 2025-11-25: calls/s ÷ mcp-go", figure: "handshake", peer: "mcpgo", atLeast: true, bound: 1.5},
			{title: "HTTP 2025-11-25: calls/s ÷ floor", figure: "handshake", peer: "httpfloor", atLeast: true, bound: 0.7},
			{title: "HTTP 2026-07-28: calls/s ÷ mcp-go", figure: "stateless", peer: "mcpgo", atLeast: true, bound: 1.5},
			{title: "HTTP 2026-07-28: calls/s ÷ floor", figure: "stateless", peer: "httpfloor", atLeast: true, bound: 0.7},
		}, measureEras},
		{"client", []gate{
			{title: "client over HTTP: calls/s ÷ mcp-go", figure: "client", peer: "mcpgo", atLeast: true, bound: 1.5},
		}, measureClients},
		{"size", []gate{
			{title: "server binary ÷ Go SDK", figure: "size", peer: "gosdk", bound: 0.97, exact: true},
		}, measureSize},
		{"generate", []gate{
			{title: "verified tool ÷ go build, dev server running", figure: "warm", peer: "gobuild", bound: 0.5},
			{title: "verified tool ÷ go build, new process", figure: "cold", peer: "gobuild", bound: 1.5},
			{title: "tool with body and examples ÷ go test", figure: "tested", peer: "gotest", bound: 1.2},
		}, measureGenerate},
		{"live", []gate{
			{title: "stdio: sequential time, petrock dev ÷ bare relay", figure: "through", peer: "relay", bound: 1.5},
			{title: "reload ÷ go build of the server", figure: "reload", peer: "gobuild", bound: 1.5},
		}, measureLive},
	}
}

// options are the flags.
type options struct {
	rounds int
	time   time.Duration // of one measurement
	slack  float64       // the fraction by which a median may miss its bound
}

// A bench is the state of a run.
type bench struct {
	dir     string // temporary
	options options
	servers []server
	project *project
}

// results holds the value of each round, by figure and server.
type results map[string]map[string][]float64

func (r results) add(figure, server string, value float64) {
	if r[figure] == nil {
		r[figure] = map[string][]float64{}
	}
	r[figure][server] = append(r[figure][server], value)
}

// ratios returns our figure divided by the peer's, for each round: a busy machine slows both.
func (r results) ratios(g gate) []float64 {
	ours, peer := r[g.figure]["ours"], r[g.figure][g.peer]
	all := make([]float64, min(len(ours), len(peer)))
	for i := range all {
		all[i] = ours[i] / peer[i]
	}
	return all
}

// met reports whether all gates of a group are met.
func (g group) met(r results, slack float64) bool {
	return !slices.ContainsFunc(g.gates, func(gate gate) bool { return !gate.met(r.ratios(gate), slack) })
}

// met reports whether the median of the ratios misses the bound by the fraction slack at most.
func (g gate) met(ratios []float64, slack float64) bool {
	if len(ratios) == 0 {
		return false
	}
	if g.exact {
		slack = 0
	}
	if g.atLeast {
		return median(ratios) >= g.bound*(1-slack)
	}
	return median(ratios) <= g.bound*(1+slack)
}

// run returns the exit code: 0 if every gate is met, 1 if not, 2 for a usage error.
func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(errOut)
	flags.IntVar(&o.rounds, "rounds", 5, "number of interleaved rounds; the median counts. A group that misses a bound gets up to three times as many")
	flags.DurationVar(&o.time, "time", 500*time.Millisecond, "duration of one measurement")
	flags.Float64Var(&o.slack, "slack", 0.1, "`fraction` by which a median may miss its bound, because machines and runs differ")
	only := flags.String("only", "", "comma-separated `groups` to measure: stdio, http, client, size, generate, live (default all)")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return 2
	}
	chosen, err := choose(*only)
	if err == nil && (flags.NArg() > 0 || o.rounds < 1 || o.time < 10*time.Millisecond || o.slack < 0 || o.slack >= 1) {
		err = errors.New("want flags only, -rounds of at least 1, -time of at least 10ms and -slack from 0 to below 1")
	}
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 2
	}
	missed, err := measure(ctx, chosen, o, out, errOut)
	if err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	if missed > 0 {
		fmt.Fprintf(errOut, "bench: %d ratios missed\n", missed)
		return 1
	}
	return 0
}

func choose(only string) ([]group, error) {
	all := groups()
	if only == "" {
		return all, nil
	}
	var chosen []group
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(g group) bool { return g.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only: unknown group %q", name)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// measure runs the rounds of each group and prints its gates. It returns the number of missed
// gates. A group that misses one is measured for as many rounds again, twice at most, because a
// busy machine can spoil most of a few rounds. The median of all rounds counts.
func measure(ctx context.Context, chosen []group, o options, out, errOut io.Writer) (missed int, err error) {
	dir, err := os.MkdirTemp("", "petrock-bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(errOut, "building the servers …")
	b := &bench{dir: dir, options: o}
	if b.servers, err = build(ctx, dir); err != nil {
		return 0, err
	}
	defer func() { b.project.close() }()
	fmt.Fprintf(out, "%-48s %8s %8s  %s\n", "ratio", "median", "bound", "rounds")
	for _, g := range chosen {
		r := results{}
		for round := 0; round < o.rounds || round < 3*o.rounds && (round%o.rounds != 0 || !g.met(r, o.slack)); round++ {
			if err := g.measure(ctx, b, round, r); err != nil {
				return missed, err
			}
		}
		for _, gate := range g.gates {
			if !gate.report(out, r.ratios(gate), o.slack) {
				missed++
			}
		}
	}
	return missed, nil
}

// report prints a gate, and reports whether it is met.
func (g gate) report(out io.Writer, ratios []float64, slack float64) bool {
	sign, verdict := "≤", ""
	if g.atLeast {
		sign = "≥"
	}
	if !g.met(ratios, slack) {
		verdict = "  MISSED"
	}
	var shown []string
	for _, ratio := range ratios {
		shown = append(shown, fmt.Sprintf("%.2f", ratio))
	}
	fmt.Fprintf(out, "%-48s %8.2f %8s  %s%s\n", g.title, median(ratios), fmt.Sprintf("%s %g", sign, g.bound), strings.Join(shown, " "), verdict)
	return verdict == ""
}

// rotated returns list from the n-th element on, followed by the elements before it.
func rotated[T any](list []T, n int) []T {
	n %= len(list)
	return append(list[n:len(list):len(list)], list[:n]...)
}

// median returns the middle value, or the mean of the two in the middle; 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
