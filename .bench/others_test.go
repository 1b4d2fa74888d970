package main

import "testing"

func TestOthers(t *testing.T) {
	read := func(all, own string) cpuUsage {
		t.Helper()
		u, err := parseCPUUsage([]byte(all), []byte(own))
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	before := read("cpu  100 0 100 1000 50 0 0 0 0 0\ncpu0 1 1", "7 (a) b) S 1 7 7 0 -1 0 1 2 3 4 10 20 30 40 20 0 1 0 99")
	after := read("cpu  150 10 110 1100 60 5 5 10 0 0\ncpu0 1 1", "7 (a) b) S 1 7 7 0 -1 0 1 2 3 4 15 20 40 45 20 0 1 0 99")
	// Of 200 ticks, 90 were busy, and 20 of those ours.
	if got := after.others(before).of(); got != 0.35 {
		t.Errorf("others = %v, want 0.35; before %+v, after %+v", got, before, after)
	}
	if got := before.others(before).of(); got != 0 {
		t.Errorf("others in no time = %v, want 0", got)
	}
	if _, err := parseCPUUsage([]byte("cpu 1 2\n"), nil); err == nil {
		t.Error("no error for a line that is too short")
	}
}

func TestSharesAddUp(t *testing.T) {
	if got := (share{1, 10}).plus(share{4, 40}).of(); got != 0.1 {
		t.Errorf("got %v, want 0.1", got)
	}
}
