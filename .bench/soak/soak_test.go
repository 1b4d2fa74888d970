package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/bench/internal/front"
)

func TestOptions(t *testing.T) {
	o, err := parseOptions(strings.Fields("-clients 32 -time 2s -seed 7"), t.Output())
	if err != nil || o.clients != 32 || o.time != 2*time.Second || o.seed != 7 {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range []string{"-clients 1", "-time 1ms", "x", "-what"} {
		if _, err := parseOptions(strings.Fields(args), new(bytes.Buffer)); err == nil {
			t.Errorf("%s: no error", args)
		}
	}
}

// A tenth of 256 clients disconnect, and 16 clients are enough for all kinds.
func TestKinds(t *testing.T) {
	for _, n := range []int{16, 256} {
		counts := map[string]int{}
		for i := range n {
			counts[kindOf(i*256/n).name]++
		}
		if len(counts) != len(kinds()) {
			t.Errorf("%d clients: %v", n, counts)
		}
		if n == 256 && counts["disconnecting"] != 26 {
			t.Errorf("%v", counts)
		}
	}
}

func TestFaults(t *testing.T) {
	before := front.Usage{Heap: 1 << 20, Goroutines: 5}
	for after, want := range map[front.Usage]int{
		before: 0,
		{Heap: before.Heap + heapSlack, Goroutines: 4}:     0,
		{Heap: before.Heap + heapSlack + 1, Goroutines: 5}: 1,
		{Heap: 0, Goroutines: 6}:                           1,
	} {
		if got := grown(before, after); len(got) != want {
			t.Errorf("%+v: %q", after, got)
		}
	}
	if faults := newReport(options{}).faults(); len(faults) == 0 {
		t.Error("a soak without operations has no faults")
	}
}
