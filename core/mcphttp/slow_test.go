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
			t.Errorf("lossless %[1]t: adding gives %[2]v, and %[3]d bytes wait; want an error: %[1]t, and at most 11000 bytes", lossless, err, s.all.size)
		}
		sent, state := r.appendPending(nil)
		if state != want || strings.Contains(string(sent), "the end") == lossless {
			t.Errorf("lossless %[1]t: the reader is %[2]v after %[3]d bytes that end with %.50[4]q; want %[5]v, and the end lost: %[1]t", lossless, state, len(sent), sent[max(0, len(sent)-50):], want)
		}
	}
}
