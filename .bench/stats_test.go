package main

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{1, 100, 2, 4}, 3},
		{[]float64{2, 2, 1, 1}, 1.5},
	} {
		before := slices.Clone(test.values)
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", before, got, test.want)
		}
		if !slices.Equal(test.values, before) {
			t.Errorf("median changed the order of %v", before)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
}

func TestPercentile(t *testing.T) {
	var samples []time.Duration
	for i := range 200 {
		samples = append(samples, time.Duration(200-i)) // 200 … 1
	}
	for p, want := range map[float64]time.Duration{50: 100, 99: 198, 100: 200, 0: 1} {
		if got := percentile(samples, p); got != want {
			t.Errorf("percentile %v = %v, want %v", p, got, want)
		}
	}
	if got := percentile([]time.Duration{7}, 99); got != 7 {
		t.Errorf("percentile of one sample = %v, want that sample", got)
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("percentile of nothing = %v, want 0", got)
	}
}

func TestSpread(t *testing.T) {
	if got := spread([]float64{9, 10, 12}); got != 0.15 {
		t.Errorf("spread = %v, want 0.15", got)
	}
}
