package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The median decides, and may miss the bound by a tenth.
func TestGate(t *testing.T) {
	atLeast, atMost, exact := gate{atLeast: true, bound: 10}, gate{bound: 10}, gate{bound: 10, exact: true}
	for _, test := range []struct {
		gate   gate
		ratios []float64
		met    bool
	}{
		{atLeast, []float64{9}, true},
		{atLeast, []float64{8.99}, false},
		{atLeast, []float64{1, 10, 11}, true},
		{atMost, []float64{11}, true},
		{atMost, []float64{11.1}, false},
		{exact, []float64{10}, true},
		{exact, []float64{10.1}, false},
		{atMost, nil, false},
	} {
		var out bytes.Buffer
		if got := test.gate.report(&out, test.ratios, 0.1); got != test.met || strings.Contains(out.String(), "MISSED") == test.met {
			t.Errorf("%+v with %v: met %v, want %v: %s", test.gate, test.ratios, got, test.met, &out)
		}
	}
}

// Ratios are taken round by round.
func TestRatios(t *testing.T) {
	r := results{}
	for _, slower := range []float64{1, 2} {
		r.add("pipelined", "ours", 400/slower)
		r.add("pipelined", "mcpgo", 40/slower)
	}
	if got := r.ratios(gate{figure: "pipelined", peer: "mcpgo"}); !slices.Equal(got, []float64{10, 10}) {
		t.Errorf("got %v", got)
	}
	if got := r.ratios(gate{figure: "pipelined", peer: "gosdk"}); len(got) > 0 {
		t.Errorf("got %v for a peer that was not measured", got)
	}
}

// CONTRIBUTING.md lists the bounds, in the order of the gates, and README.md those of calls per
// second. A row stands for both eras of HTTP.
func TestPublishedBounds(t *testing.T) {
	var all, rates []string
	for _, g := range groups() {
		for _, gate := range g.gates {
			switch {
			case strings.Contains(gate.title, "2026-07-28"):
			case gate.atLeast:
				all = append(all, fmt.Sprintf("≥ %g", gate.bound))
				if gate.peer != "httpfloor" && g.name != "client" {
					rates = append(rates, fmt.Sprintf("at least %g ×", gate.bound))
				}
			default:
				all = append(all, fmt.Sprintf("≤ %g", gate.bound))
			}
		}
	}
	_, section, _ := strings.Cut(read(t, "../.github/CONTRIBUTING.md"), "| ratio | bound |\n")
	table, _, _ := strings.Cut(section, "\n\n")
	if got := regexp.MustCompile(`[≥≤] [0-9.]+`).FindAllString(table, -1); !slices.Equal(got, all) {
		t.Errorf("CONTRIBUTING.md: got the bounds %q, want %q", got, all)
	}
	if got := regexp.MustCompile(`at least [0-9.]+ ×`).FindAllString(read(t, "../README.md"), -1); !slices.Equal(got, rates) {
		t.Errorf("README.md: got the bounds %q, want %q", got, rates)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{"-only", "nothing"}, {"-rounds", "0"}, {"-slack", "-0.1"}, {"-slack", "1"}, {"-nonsense"}, {"more"}} {
		if code := run(t.Context(), args, &bytes.Buffer{}, &bytes.Buffer{}); code != 2 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}
