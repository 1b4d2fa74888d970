package main

import (
	"fmt"
	"io"
	"slices"
)

// minRate returns the target of a setting: calls a second, ours divided by each of the others, in the
// median of all rounds. Over HTTP all clients spend most of their time in net/http.
func (s setting) minRate() float64 {
	if s.http {
		return 1.5
	}
	return 2
}

// report prints the figures of a setting, and returns how many targets were missed.
func report(out io.Writer, s setting, figures map[string][]figure) (missed int) {
	fmt.Fprintf(out, "\n%s\n%-8s %12s %12s %12s %12s\n", s.name, "client", "calls/s", "allocs/call", "bytes/call", "CPU µs/call")
	for _, lib := range libraries() {
		all := figures[lib.name]
		fmt.Fprintf(out, "%-8s %12.0f %12.1f %12.0f %12.1f\n", lib.name, middle(all, rate), middle(all, allocs),
			middle(all, func(f figure) float64 { return f.bytes }), middle(all, func(f figure) float64 { return f.cpu }))
	}
	for _, other := range []string{"gosdk", "mcpgo"} {
		faster := median(ratios(figures["ours"], figures[other], rate))
		fewer := median(ratios(figures["ours"], figures[other], allocs))
		fmt.Fprintf(out, "ours ÷ %s: calls/s %.2f × (≥ %.1f%s), allocations %.2f ×\n",
			other, faster, s.minRate(), mark(faster >= s.minRate(), &missed), fewer)
	}
	return missed
}

func rate(f figure) float64   { return f.rate }
func allocs(f figure) float64 { return f.allocs }

// mark says whether a target is met, and counts it if not.
func mark(met bool, missed *int) string {
	if met {
		return ""
	}
	*missed++
	return ", MISSED"
}

// ratios compares two clients round by round.
func ratios(ours, theirs []figure, of func(figure) float64) []float64 {
	all := make([]float64, len(ours))
	for i := range ours {
		all[i] = of(ours[i]) / of(theirs[i])
	}
	return all
}

func middle(all []figure, of func(figure) float64) float64 {
	values := make([]float64, len(all))
	for i, f := range all {
		values[i] = of(f)
	}
	return median(values)
}

// median returns the middle of values, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
