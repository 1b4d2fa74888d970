package main

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/bench/internal/work"
)

// stderrKept is how much of a server's standard error is kept, from its beginning.
const stderrKept = 8 << 10

// A stderr takes what a server writes to its standard error. It keeps the beginning,
// for messages of errors, and notes when the tool slow says that it was stopped.
type stderr struct {
	stopped chan time.Time

	mu   sync.Mutex
	kept []byte
	more bool
}

func newStderr() *stderr {
	return &stderr{stopped: make(chan time.Time, 64)}
}

// Write implements io.Writer. It never fails.
func (s *stderr) Write(p []byte) (int, error) {
	now := time.Now()
	for range bytes.Count(p, []byte(work.Stopped)) {
		select {
		case s.stopped <- now:
		default: // nobody looks
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(p), stderrKept-len(s.kept))
	s.kept = append(s.kept, p[:n]...)
	s.more = s.more || n < len(p)
	return len(p), nil
}

// String tells what was written, for the end of an error message.
func (s *stderr) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := strings.TrimSpace(strings.ReplaceAll(string(s.kept), work.Stopped, ""))
	switch {
	case text == "":
		return "it wrote nothing to standard error"
	case s.more:
		text += "\n…"
	}
	return "its standard error:\n" + text
}
