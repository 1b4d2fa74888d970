package main

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestTargetWord(t *testing.T) {
	atLeast, atMost, under := target{least: true, bound: 8}, target{bound: 1.4}, target{bound: 1, below: true}
	for _, test := range []struct {
		target target
		rounds []float64
		want   string
	}{
		{atLeast, []float64{8}, "met"},
		{atLeast, []float64{7.99}, "missed"},
		{atLeast, []float64{1, 9, 10}, "met"}, // the median counts
		{atMost, []float64{1.4}, "met"},
		{atMost, []float64{1.41}, "missed"},
		{under, []float64{0.99}, "met"},
		{under, []float64{1}, "missed"},
		{under, nil, "not measured"},
	} {
		if got := test.target.word(test.rounds); got != test.want {
			t.Errorf("wanted %s, got %v: %s, want %s", test.target.wanted(), test.rounds, got, test.want)
		}
	}
}

// someResults has ours and mcpgo, in two rounds of which the second was slower for both.
func someResults() *results {
	r := newResults(options{rounds: 2}, []server{{name: "ours"}, {name: "mcpgo", version: "v1.2.1"}})
	for _, slower := range []float64{1, 2} {
		r.add("ours", pipelined, 400/slower)
		r.add("mcpgo", pipelined, 40/slower)
		r.add("ours", peak, 16)
		r.add("mcpgo", peak, 12)
	}
	return r
}

func TestRatioIsTakenRoundByRound(t *testing.T) {
	if got := someResults().ratio(pipelined, "ours", "mcpgo"); !slices.Equal(got, []float64{10, 10}) {
		t.Errorf("ratio = %v, want [10 10]", got)
	}
	if got := someResults().ratio(pipelined, "ours", "gosdk"); len(got) != 0 {
		t.Errorf("ratio to a server that was not measured = %v, want none", got)
	}
}

func TestJudge(t *testing.T) {
	words := map[string]string{}
	verdicts := judge(someResults())
	for _, v := range verdicts {
		words[v.target.name] = v.word
	}
	for name, want := range map[string]string{
		"pipelined_mcpgo": "met", "peak_mcpgo": "missed", "pipelined_gosdk": "not measured", "ping_slow": "not measured",
	} {
		if words[name] != want {
			t.Errorf("%s: %q, want %q", name, words[name], want)
		}
	}
	if got, want := missed(verdicts), len(targets)-1; got != want {
		t.Errorf("missed = %d, want %d", got, want)
	}
}

func TestReports(t *testing.T) {
	r := someResults()
	var tables, data bytes.Buffer
	if err := writeTables(&tables, r, judge(r)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mcpgo v1.2.1 |", "| pipelined, thousand calls a second |", " 300 ±33% |", "10.0–10.0"} {
		if !strings.Contains(tables.String(), want) {
			t.Errorf("no %q in\n%s", want, &tables)
		}
	}
	if err := writeJSON(&data, r, judge(r)); err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(data.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if f := got.Servers["ours"].Figures[pipelined]; f.Median != 300 || len(f.Rounds) != 2 {
		t.Errorf("pipelined in JSON: %+v", f)
	}
	if got.Targets[0].Figure == nil || got.Targets[1].Figure != nil {
		t.Errorf("targets in JSON: the first was measured, the second was not: %s", &data)
	}
}
