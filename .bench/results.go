package main

import "time"

// The names of figures, besides those of situations with a suffix.
const (
	startTime     = "start_ms"
	sequential    = "sequential_us"
	pipelined     = "pipelined_kcalls"
	cpuPipelined  = "cpu_pipelined_us"
	cpuSequential = "cpu_sequential_us"
	peak          = "peak_mb"
	size          = "size_mb"
)

// results are what was measured: for each server, for each figure, a value a round.
type results struct {
	options options
	servers []server
	values  map[string]map[string][]float64
	others  []float64 // what share of the CPUs other processes used, round by round
}

func newResults(o options, servers []server) *results {
	r := &results{options: o, servers: servers, values: map[string]map[string][]float64{}}
	for _, s := range servers {
		r.values[s.name] = map[string][]float64{}
	}
	return r
}

// add takes down a figure of one round.
func (r *results) add(server, figure string, value float64) {
	r.values[server][figure] = append(r.values[server][figure], value)
}

// merge adds what was measured in one step of a round.
func (r *results) merge(step *results) {
	for server, figures := range step.values {
		for figure, values := range figures {
			r.values[server][figure] = append(r.values[server][figure], values...)
		}
	}
}

// addLatency takes down the latencies of one round, if there are any.
func (r *results) addLatency(server, situation string, samples []time.Duration) {
	if len(samples) == 0 {
		return
	}
	for suffix, p := range map[string]float64{p50: 50, p99: 99, worst: 100} {
		r.add(server, situation+suffix, milliseconds(percentile(samples, p)))
	}
}

// The suffixes of a situation's name, for its three figures.
const (
	p50   = "_p50_ms"
	p99   = "_p99_ms"
	worst = "_worst_ms"
)

// of returns a figure, round by round; it is empty if it was not measured.
func (r *results) of(server, figure string) []float64 {
	return r.values[server][figure]
}

// ratio divides a figure of one server by that of another, round by round. What slows
// the machine down for a while slows both, and so hardly shows in it.
func (r *results) ratio(figure, server, by string) []float64 {
	over, under := r.of(server, figure), r.of(by, figure)
	ratios := make([]float64, min(len(over), len(under)))
	for i := range ratios {
		ratios[i] = over[i] / under[i]
	}
	return ratios
}
