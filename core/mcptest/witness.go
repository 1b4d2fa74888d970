package mcptest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
)

// A witness writes down what a server logs, but for panics: it remembers the last one, for the error of the
// call that it ended.
type witness struct {
	slog.Handler
	seen *seen
}

// seen is what a witness remembers.
type seen struct {
	mu    sync.Mutex
	panic string
}

// newWitness is a witness that writes to out.
func newWitness(out io.Writer) *witness {
	return &witness{slog.NewTextHandler(out, nil), &seen{}}
}

// Handle implements [slog.Handler].
func (w *witness) Handle(ctx context.Context, r slog.Record) error {
	value, at := "", ""
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "panic":
			value = a.Value.String()
		case "stack":
			at = origin(a.Value.String())
		}
		return true
	})
	if at == "" {
		return w.Handler.Handle(ctx, r)
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	w.seen.panic = fmt.Sprintf("it panicked: %s (%s)", value, at)
	return nil
}

// WithAttrs implements [slog.Handler].
func (w *witness) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &witness{w.Handler.WithAttrs(attrs), w.seen}
}

// WithGroup implements [slog.Handler].
func (w *witness) WithGroup(name string) slog.Handler {
	return &witness{w.Handler.WithGroup(name), w.seen}
}

// take is the last panic, in words, which is then forgotten. It is empty if there was none.
func (w *witness) take() string {
	if w == nil {
		return ""
	}
	w.seen.mu.Lock()
	defer w.seen.mu.Unlock()
	said := w.seen.panic
	w.seen.panic = ""
	return said
}

// origin is where a panic was, by the stack of its goroutine: the first place below the panic that is
// not the runtime's, such as tools/add.go:18.
func origin(stack string) string {
	lines := strings.Split(stack, "\n")
	panicked := false
	for i, line := range lines {
		switch {
		case strings.HasPrefix(line, "panic("):
			panicked = true
		case panicked && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "runtime.") && i+1 < len(lines):
			place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			dir, file := path.Split(place)
			return path.Join(path.Base(dir), file)
		}
	}
	return "an unknown place"
}
