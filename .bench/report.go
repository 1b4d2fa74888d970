package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
)

const none = "–"

// A row is one of the first table.
type row struct {
	name, title string // of the figure
}

// figures are the rows of the first table over stdio.
var figures = []row{
	{startTime, "start to first tools/list, ms"},
	{sequential, "sequential, µs a call"},
	{pipelined, "pipelined, thousand calls a second"},
	{cpuPipelined, "CPU pipelined, µs a call"},
	{cpuSequential, "CPU sequential, µs a call"},
	{peak, "peak memory, MB"},
	{size, "binary, MB"},
}

// writeTables writes the report for people, as Markdown.
func writeTables(w io.Writer, r *results, verdicts []verdict) error {
	o := r.options
	s := o.suite()
	latencies := ""
	if s.latencies {
		latencies = table(latencyRows(r)) + "\nLatency in ms: p50 / p99 / worst of a round, medians over the rounds.\n\n"
	}
	_, err := fmt.Fprintf(w, `%s, %s/%s, %d CPUs; over %s; %d rounds, %v each; %d calls in flight %s

%s
Medians over the rounds, ± half of their range.

%s%s
Ratios are taken round by round; the range is that of the rounds.
%s`,
		runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), o.over, o.rounds, o.time, inFlight, s.many,
		table(figureRows(r)), latencies, table(verdictRows(verdicts)), unquiet(r.others))
	return err
}

// unquiet is a warning if the machine was.
func unquiet(others []float64) string {
	if len(others) == 0 || slices.Max(others) < muchByOthers {
		return ""
	}
	return fmt.Sprintf("\nThe machine was not quiet: other processes used %.0f %% of the CPUs, up to %.0f %% in a round.\n"+
		"Worst latencies say little then, and the other figures less than they could: try -quiet 5m.\n",
		100*median(others), 100*slices.Max(others))
}

// header is the first row of a table with a column for each server.
func header(r *results, first string) []string {
	row := []string{first}
	for _, s := range r.servers {
		row = append(row, strings.TrimSpace(s.name+" "+s.version))
	}
	return row
}

func figureRows(r *results) [][]string {
	rows := [][]string{header(r, "")}
	for _, f := range r.options.suite().figures {
		row := []string{f.title}
		for _, s := range r.servers {
			row = append(row, withSpread(r.of(s.name, f.name)))
		}
		rows = append(rows, row)
	}
	return rows
}

func latencyRows(r *results) [][]string {
	rows := [][]string{header(r, "")}
	for _, in := range situations {
		row := []string{in.title}
		for _, s := range r.servers {
			cell := none
			if len(r.of(s.name, in.name+worst)) > 0 {
				cell = fmt.Sprintf("%.2f / %.2f / %.2f", median(r.of(s.name, in.name+p50)),
					median(r.of(s.name, in.name+p99)), median(r.of(s.name, in.name+worst)))
			}
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

func verdictRows(verdicts []verdict) [][]string {
	rows := [][]string{{"target", "wanted", "figure", "range", "verdict"}}
	for _, v := range verdicts {
		figure, span := none, none
		if len(v.rounds) > 0 {
			figure = number(median(v.rounds)) + v.target.unit
			span = number(slices.Min(v.rounds)) + "–" + number(slices.Max(v.rounds))
		}
		rows = append(rows, []string{v.target.title, v.target.wanted(), figure, span, v.word})
	}
	return rows
}

// withSpread writes a figure with how sure it is.
func withSpread(rounds []float64) string {
	if len(rounds) == 0 {
		return none
	}
	text := number(median(rounds))
	if s := spread(rounds); s >= 0.005 {
		text += fmt.Sprintf(" ±%.0f%%", 100*s)
	}
	return text
}

// number writes three digits or more, without an exponent.
func number(x float64) string {
	switch size := math.Abs(x); {
	case size >= 99.95:
		return fmt.Sprintf("%.0f", x)
	case size >= 9.995:
		return fmt.Sprintf("%.1f", x)
	case size >= 0.9995:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.3f", x)
}
