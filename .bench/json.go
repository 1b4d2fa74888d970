package main

import (
	"encoding/json"
	"io"
	"runtime"
)

// A report is the results for programs.
type report struct {
	Go      string                  `json:"go"`
	System  string                  `json:"system"`
	CPUs    int                     `json:"cpus"`
	Over    string                  `json:"over"` // the transport
	Rounds  int                     `json:"rounds"`
	Seconds float64                 `json:"seconds"` // of one measurement
	Others  []float64               `json:"others"`  // share of the CPUs that other processes used, by round
	Servers map[string]reportServer `json:"servers"`
	Targets []reportTarget          `json:"targets"`
}

// A reportServer is what was measured of one server.
type reportServer struct {
	Version string                  `json:"version,omitempty"` // of the library
	Figures map[string]reportFigure `json:"figures"`
}

// A reportFigure is one figure, as a whole and round by round.
type reportFigure struct {
	Median float64   `json:"median"`
	Rounds []float64 `json:"rounds"`
}

// A reportTarget is how ours stands to a target.
type reportTarget struct {
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Wanted  string        `json:"wanted"`
	Figure  *reportFigure `json:"figure"` // null if it was not measured
	Verdict string        `json:"verdict"`
}

// writeJSON writes the report for programs.
func writeJSON(w io.Writer, r *results, verdicts []verdict) error {
	out := report{
		Go:      runtime.Version(),
		System:  runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:    runtime.NumCPU(),
		Over:    r.options.over,
		Rounds:  r.options.rounds,
		Seconds: r.options.time.Seconds(),
		Others:  r.others,
		Servers: map[string]reportServer{},
	}
	for _, s := range r.servers {
		one := reportServer{Version: s.version, Figures: map[string]reportFigure{}}
		for name, rounds := range r.values[s.name] {
			one.Figures[name] = reportFigure{median(rounds), rounds}
		}
		out.Servers[s.name] = one
	}
	for _, v := range verdicts {
		one := reportTarget{Name: v.target.name, Title: v.target.title, Wanted: v.target.wanted(), Verdict: v.word}
		if len(v.rounds) > 0 {
			one.Figure = &reportFigure{median(v.rounds), v.rounds}
		}
		out.Targets = append(out.Targets, one)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(out)
}
