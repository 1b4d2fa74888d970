package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/petrock/petrock/bench/internal/front"
)

// heapSlack is by how much the heap may differ without having grown.
const heapSlack = 512 << 10

// A report is what came of it.
type report struct {
	options       options
	clients       map[string]int // by kind
	start         front.Holding  // nobody has come yet
	before, after front.Holding

	residentBefore, residentMost, residentAfter int64

	mu     sync.Mutex
	times  map[string][]time.Duration // by what was done
	counts map[string]int             // of what is not timed
	errs   []error                    // the first ones
	failed int
}

func newReport(o options) *report {
	return &report{options: o, clients: map[string]int{}, times: map[string][]time.Duration{}, counts: map[string]int{}}
}

// took takes down how long something took, of a client that must not fail.
func (r *report) took(what string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[what] = append(r.times[what], d)
}

// did counts something else.
func (r *report) did(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// fault takes down an error of a client that must not have any.
func (r *report) fault(err error) {
	const kept = 10
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if len(r.errs) < kept {
		r.errs = append(r.errs, err)
	}
}

// faults are what must not be.
func (r *report) faults() []string {
	var all []string
	if r.failed > 0 {
		all = append(all, fmt.Sprintf("%d errors of clients that should have had none; the first ones:", r.failed))
		for _, err := range r.errs {
			all = append(all, err.Error())
		}
	}
	for _, what := range []string{
		addInSession, addStateless, progressInSession, progressStateless, updateOverGet, updateOverListen, asked, resumed,
	} {
		if len(r.times[what]) == 0 {
			all = append(all, "nobody got to: "+what)
		}
	}
	if r.after.Goroutines > r.start.Goroutines {
		all = append(all, fmt.Sprintf("the server started with %d goroutines, and now there are %d", r.start.Goroutines, r.after.Goroutines))
	}
	return append(all, grown(r.before, r.after)...)
}

// grown says what a server holds more of than before.
func grown(before, after front.Holding) []string {
	var all []string
	if after.Goroutines > before.Goroutines {
		all = append(all, fmt.Sprintf("there were %d goroutines, and now there are %d", before.Goroutines, after.Goroutines))
	}
	if after.Heap > before.Heap+heapSlack {
		all = append(all, fmt.Sprintf("there were %d bytes on the heap, and now there are %d", before.Heap, after.Heap))
	}
	return all
}

// write writes the report for people, as Markdown.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%d clients for %v, seed %d:", r.options.clients, r.options.time, r.options.seed)
	for _, k := range kinds() {
		fmt.Fprintf(w, " %d %s,", r.clients[k.name], k.name)
	}
	fmt.Fprintf(w, "\n\n| what clients did that must not fail | times | p50, ms | p99, ms | max, ms |\n|---|---:|---:|---:|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(r.times)) {
		times := slices.Sorted(slices.Values(r.times[what]))
		at := func(p int) float64 { return times[(len(times)-1)*p/100].Seconds() * 1e3 }
		fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %.2f |\n", what, len(times), at(50), at(99), at(100))
	}
	fmt.Fprintf(w, "\n| what the others did | times |\n|---|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(w, "| %s | %d |\n", what, r.counts[what])
	}
	fmt.Fprintf(w, "\n| the server | started | before | at most | after |\n|---|---:|---:|---:|---:|\n")
	fmt.Fprintf(w, "| goroutines | %d | %d | | %d |\n", r.start.Goroutines, r.before.Goroutines, r.after.Goroutines)
	fmt.Fprintf(w, "| heap, kB | %d | %d | | %d |\n", r.start.Heap>>10, r.before.Heap>>10, r.after.Heap>>10)
	fmt.Fprintf(w, "| resident, MB | | %d | %d | %d |\n\n", r.residentBefore>>20, r.residentMost>>20, r.residentAfter>>20)
	fmt.Fprintf(w, "%d errors of clients that must not have any\n", r.failed)
}
