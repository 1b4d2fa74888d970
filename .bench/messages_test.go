package main

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestCallsHaveIDsInOrder(t *testing.T) {
	c := newCalls(4)
	want := firstID
	for _, n := range []int{1, 4, 2, 4} {
		batch := c.take(n)
		if got := bytes.Count(batch, []byte("\n")); got != n {
			t.Fatalf("took %d, got %d lines: %s", n, got, batch)
		}
		for line := range bytes.Lines(batch) {
			var call struct {
				ID     int
				Method string
				Params struct {
					Name      string
					Arguments struct{ A, B float64 }
				}
			}
			if err := json.Unmarshal(line, &call); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			if call.ID != want || call.Method != "tools/call" || call.Params.Name != "add" {
				t.Errorf("want id %d: %s", want, line)
			}
			if sum := call.Params.Arguments.A + call.Params.Arguments.B; sum != addSum {
				t.Errorf("the arguments add up to %v, not to %v", sum, addSum)
			}
			want++
		}
	}
	if c.taken() != 11 {
		t.Errorf("taken = %d, want 11", c.taken())
	}
}

func TestMessagesAreJSON(t *testing.T) {
	all := initialize + list + waitMessage(firstID, "slow", 20) + pingMessage(firstID+1) + cancelMessage(firstID)
	for line := range bytes.Lines([]byte(all)) {
		if !json.Valid(line) {
			t.Errorf("not JSON: %s", line)
		}
	}
}
