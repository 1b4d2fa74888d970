package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	got := table([][]string{
		{"", "ours", "floor"},
		{"sequential, µs", "20.1 ±3%", "9"},
		{"size", "1", "–"},
	})
	want := strings.TrimPrefix(`
|                |     ours | floor |
|----------------|---------:|------:|
| sequential, µs | 20.1 ±3% |     9 |
| size           |        1 |     – |
`, "\n")
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{
		2180.4: "2180", 99.96: "100", 99.94: "99.9", 9.996: "10.0", 9.994: "9.99", 0.9996: "1.00", 0.216: "0.216", 0: "0.000",
	} {
		if got := number(x); got != want {
			t.Errorf("number(%v) = %s, want %s", x, got, want)
		}
	}
}
