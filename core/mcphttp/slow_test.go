package mcphttp

import (
	"errors"
	"strings"
	"testing"
)

// A client that reads too slowly misses events before the answer, but not the answer. A
// subscription ends instead.
func TestSlowReaders(t *testing.T) {
	msg := []byte(`"` + strings.Repeat("x", 1000) + `"`)
	for lossless, want := range map[bool]readerState{false: readerDone, true: readerLost} {
		s := newStreams(10_000, &account{quota: newQuota("bytes held", 1<<20, 100, 1)}).open(false, lossless).stream
		r := s.read(0)
		var err error
		for range 100 {
			err = errors.Join(err, s.add(msg))
		}
		s.finish([]byte(`"the end"`))
		if (err != nil) != lossless || s.all.size > 11_000 {
			t.Errorf("lossless %t: adding gives %v; %d bytes wait; want (err != nil) == %v and s.all.size <= 11_000", lossless, err, s.all.size, lossless)
		}
		sent, state := r.appendPending(nil)
		if state != want || strings.Contains(string(sent), "the end") == lossless {
			t.Errorf(`lossless %t: the reader is sent %d bytes, and is %d; want state == %v and strings.Contains(string(sent), "the end") != %v`, lossless, len(sent), state, want, lossless)
		}
	}
}
