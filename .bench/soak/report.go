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

// heapSlack is the tolerated growth of the heap, in bytes.
const heapSlack = 512 << 10

// A report holds the results of a soak.
type report struct {
	options       options
	clients       map[string]int // by kind
	start         front.Usage    // before the first client
	before, after front.Usage

	residentBefore, residentMost, residentAfter int64

	mu     sync.Mutex
	times  map[string][]time.Duration // by operation
	counts map[string]int             // of operations that are not timed
	errs   []error                    // the first ones
	failed int
}

func newReport(o options) *report {
	return &report{options: o, clients: map[string]int{}, times: map[string][]time.Duration{}, counts: map[string]int{}}
}

// took records the duration of an operation that must not fail.
func (r *report) took(what string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times[what] = append(r.times[what], d)
}

// did counts an operation that may fail.
func (r *report) did(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

// fault records an error of an operation that must not fail.
func (r *report) fault(err error) {
	const kept = 10
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed++
	if len(r.errs) < kept {
		r.errs = append(r.errs, err)
	}
}

// faults returns the reasons why the soak failed.
func (r *report) faults() []string {
	var all []string
	if r.failed > 0 {
		all = append(all, fmt.Sprintf("%d operations failed that must not fail; the first errors:", r.failed))
		for _, err := range r.errs {
			all = append(all, err.Error())
		}
	}
	for _, what := range []string{
		addInSession, addStateless, progressInSession, progressStateless, updateOverGet, updateOverListen, asked, resumed,
	} {
		if len(r.times[what]) == 0 {
			all = append(all, "operation never completed: "+what)
		}
	}
	if r.after.Goroutines > r.start.Goroutines {
		all = append(all, fmt.Sprintf("goroutines grew from %d at startup to %d", r.start.Goroutines, r.after.Goroutines))
	}
	return append(all, grown(r.before, r.after)...)
}

// grown describes the resources that the server uses more of than before.
func grown(before, after front.Usage) []string {
	var all []string
	if after.Goroutines > before.Goroutines {
		all = append(all, fmt.Sprintf("goroutines grew from %d to %d", before.Goroutines, after.Goroutines))
	}
	if after.Heap > before.Heap+heapSlack {
		all = append(all, fmt.Sprintf("heap grew from %d to %d bytes", before.Heap, after.Heap))
	}
	return all
}

// write writes the report as Markdown.
func (r *report) write(w io.Writer) {
	fmt.Fprintf(w, "%d clients for %v, seed %d:", r.options.clients, r.options.time, r.options.seed)
	for _, k := range kinds() {
		fmt.Fprintf(w, " %d %s,", r.clients[k.name], k.name)
	}
	fmt.Fprintf(w, "\n\n| operations that must not fail | count | p50, ms | p99, ms | max, ms |\n|---|---:|---:|---:|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(r.times)) {
		times := slices.Sorted(slices.Values(r.times[what]))
		at := func(p int) float64 { return times[(len(times)-1)*p/100].Seconds() * 1e3 }
		fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %.2f |\n", what, len(times), at(50), at(99), at(100))
	}
	fmt.Fprintf(w, "\n| operations that may fail | count |\n|---|---:|\n")
	for _, what := range slices.Sorted(maps.Keys(r.counts)) {
		fmt.Fprintf(w, "| %s | %d |\n", what, r.counts[what])
	}
	fmt.Fprintf(w, "\n| server | at startup | before | maximum | after |\n|---|---:|---:|---:|---:|\n")
	fmt.Fprintf(w, "| goroutines | %d | %d | | %d |\n", r.start.Goroutines, r.before.Goroutines, r.after.Goroutines)
	fmt.Fprintf(w, "| heap, kB | %d | %d | | %d |\n", r.start.Heap>>10, r.before.Heap>>10, r.after.Heap>>10)
	fmt.Fprintf(w, "| resident, MB | | %d | %d | %d |\n\n", r.residentBefore>>20, r.residentMost>>20, r.residentAfter>>20)
	fmt.Fprintf(w, "%d errors in operations that must not fail\n", r.failed)
}
