package main

import "fmt"

// A target is what petrock wants to reach.
type target struct {
	name   string // in JSON
	title  string
	figure func(*results) []float64 // round by round; empty if it could not be measured
	least  bool                     // the bound is the least that is wanted, not the most
	bound  float64
	below  bool // the bound itself is too much
	unit   string
}

// against is the figure of ours, divided by that of another server.
func against(figure, other string) func(*results) []float64 {
	return func(r *results) []float64 { return r.ratio(figure, "ours", other) }
}

// worstOf is the worst latency of a round, in a situation.
func worstOf(situation string) func(*results) []float64 {
	return func(r *results) []float64 { return r.of("ours", situation+worst) }
}

var targets = []target{
	{name: "pipelined_mcpgo", title: "pipelined calls a second ÷ mcp-go", figure: against(pipelined, "mcpgo"), least: true, bound: 8, unit: "×"},
	{name: "pipelined_gosdk", title: "pipelined calls a second ÷ Go SDK", figure: against(pipelined, "gosdk"), least: true, bound: 40, unit: "×"},
	{name: "sequential_floor", title: "sequential time a call ÷ floor", figure: against(sequential, "floor"), bound: 1.4, unit: "×"},
	{name: "cpu_mcpgo", title: "CPU a call, pipelined ÷ mcp-go", figure: against(cpuPipelined, "mcpgo"), bound: 0.1, unit: "×"},
	{name: "start_floor", title: "start to tools/list ÷ floor", figure: against(startTime, "floor"), bound: 1.3, unit: "×"},
	{name: "start_linked", title: "start to tools/list ÷ linked floor", figure: against(startTime, "linked"), bound: 1.3, unit: "×"},
	{name: "peak_mcpgo", title: "peak memory ÷ mcp-go", figure: against(peak, "mcpgo"), bound: 1, below: true, unit: "×"},
	{name: "peak_gosdk", title: "peak memory ÷ Go SDK", figure: against(peak, "gosdk"), bound: 1, below: true, unit: "×"},
	{name: "ping_slow", title: "ping beside 16 slow calls, worst", figure: worstOf("slow"), bound: 1, unit: " ms"},
	{name: "ping_busy", title: "ping beside a busy call, worst", figure: worstOf("busy"), bound: 1, unit: " ms"},
	{name: "ping_behind", title: "ping behind a slow call, same write, worst", figure: worstOf("behind"), bound: 1, unit: " ms"},
	{name: "ping_cancel", title: "ping behind a cancellation, worst", figure: worstOf("cancel"), bound: 1, unit: " ms"},
	{name: "cancel_stopped", title: "cancellation to the tool's end, worst", figure: worstOf("stopped"), bound: 1, unit: " ms"},
}

// A verdict is how ours stands to a target.
type verdict struct {
	target target
	rounds []float64
	word   string // met, missed or not measured
}

func judge(r *results) []verdict {
	targets := r.options.suite().targets
	verdicts := make([]verdict, len(targets))
	for i, t := range targets {
		rounds := t.figure(r)
		verdicts[i] = verdict{target: t, rounds: rounds, word: t.word(rounds)}
	}
	return verdicts
}

func (t target) word(rounds []float64) string {
	if len(rounds) == 0 {
		return "not measured"
	}
	got := median(rounds)
	if t.least && got >= t.bound || !t.least && got < t.bound || !t.least && !t.below && got == t.bound {
		return "met"
	}
	return "missed"
}

// wanted is the bound in words.
func (t target) wanted() string {
	sign := "≤"
	switch {
	case t.least:
		sign = "≥"
	case t.below:
		sign = "<"
	}
	return fmt.Sprintf("%s %g%s", sign, t.bound, t.unit)
}

// missed counts the targets that were not met.
func missed(verdicts []verdict) int {
	n := 0
	for _, v := range verdicts {
		if v.word != "met" {
			n++
		}
	}
	return n
}
