package mcphttp

import (
	"errors"
	"strings"
	"testing"
)

// A client that reads too slowly misses what comes before an answer, and never the answer; a subscription ends instead.
func TestSlowReaders(t *testing.T) {
	msg := []byte(`"` + strings.Repeat("x", 1000) + `"`)
	for whole, want := range map[bool]readerState{false: readerDone, true: readerLost} {
		s := newStreams(10_000, func(int) bool { return false }).openOnce(whole)
		r := s.read(0)
		var err error
		for range 100 {
			err = errors.Join(err, s.add(msg))
		}
		s.finish([]byte(`"the end"`))
		if (err != nil) != whole || s.size > 11_000 {
			t.Errorf("whole %t: adding gives %v; %d bytes wait", whole, err, s.size)
		}
		sent, state := r.more(nil)
		if state != want || strings.Contains(string(sent), "the end") == whole {
			t.Errorf("whole %t: the reader is sent %d bytes, and is %d", whole, len(sent), state)
		}
	}
}
