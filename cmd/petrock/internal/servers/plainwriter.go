package servers

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A plainWriter escapes text like [terminal.Plain], and writes it up to a limit. It is safe for
// concurrent use.
type plainWriter struct {
	out io.Writer

	mu      sync.Mutex
	rest    []byte // an incomplete character, or the \r of a possible \r\n
	limit   int
	written int
}

// newPlainWriter returns a writer that drops everything after limit bytes, and writes a notice.
func newPlainWriter(out io.Writer, limit int) *plainWriter {
	return &plainWriter{out: out, limit: limit}
}

// Write implements [io.Writer]. It never fails.
func (w *plainWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.written > w.limit {
		return len(p), nil
	}
	text := append(w.rest, p...)
	text, w.rest = cutRune(text)
	w.written += len(p)
	if w.written > w.limit {
		text = fmt.Appendf(text, "\n… truncated after %d bytes\n", w.limit)
	}
	_, _ = io.WriteString(w.out, terminal.Plain(string(text)))
	return len(p), nil
}

// cutRune cuts off an incomplete character, or a carriage return, at the end of a text.
func cutRune(text []byte) (whole, rest []byte) {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		last := text[len(text)-n:]
		if last[0] == '\r' && n == 1 || utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
			return text[:len(text)-n], bytes.Clone(last)
		}
	}
	return text, nil
}
