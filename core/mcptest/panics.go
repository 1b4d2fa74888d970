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

// A panicLog is a log handler that keeps the last panic, for the error of the call that panicked.
type panicLog struct {
	slog.Handler
	last *lastPanic
}

type lastPanic struct {
	mu   sync.Mutex
	text string
}

// newPanicLog returns a handler that writes all other records to out.
func newPanicLog(out io.Writer) *panicLog {
	return &panicLog{slog.NewTextHandler(out, nil), &lastPanic{}}
}

// Handle implements [slog.Handler].
func (l *panicLog) Handle(ctx context.Context, r slog.Record) error {
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
		return l.Handler.Handle(ctx, r)
	}
	l.last.mu.Lock()
	defer l.last.mu.Unlock()
	l.last.text = fmt.Sprintf("it panicked: %s (%s)", value, at)
	return nil
}

// WithAttrs implements [slog.Handler].
func (l *panicLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &panicLog{l.Handler.WithAttrs(attrs), l.last}
}

// WithGroup implements [slog.Handler].
func (l *panicLog) WithGroup(name string) slog.Handler {
	return &panicLog{l.Handler.WithGroup(name), l.last}
}

// take returns the last panic as text, and forgets it. It returns "" if there is none.
func (l *panicLog) take() string {
	if l == nil {
		return ""
	}
	l.last.mu.Lock()
	defer l.last.mu.Unlock()
	text := l.last.text
	l.last.text = ""
	return text
}

// origin finds the place of a panic in a stack trace, such as tools/add.go:18: the first line below the
// panic that is not in the runtime.
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
