package main

import (
	"strings"
	"testing"
)

// A target that is missed is counted and said, round by round and not by the medians of each.
func TestReport(t *testing.T) {
	figures := map[string][]figure{
		"ours":  {{rate: 300, allocs: 40}, {rate: 30, allocs: 40}, {rate: 300, allocs: 40}},
		"gosdk": {{rate: 100, allocs: 100}, {rate: 10, allocs: 100}, {rate: 100, allocs: 100}},
		"mcpgo": {{rate: 200, allocs: 60}, {rate: 20, allocs: 60}, {rate: 200, allocs: 60}},
	}
	var out strings.Builder
	missed := report(&out, setting{name: "somehow"}, figures)
	for _, want := range []string{
		"ours ÷ gosdk: calls/s 3.00 × (≥ 2.0), allocations 0.40 ×\n",
		"ours ÷ mcpgo: calls/s 1.50 × (≥ 2.0, MISSED), allocations 0.67 ×\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
	if missed != 1 {
		t.Errorf("%d targets are missed", missed)
	}
}
