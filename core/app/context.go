package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"sync"
	"time"
)

// scopeKey and idempotencyKey are keys of contexts.
type (
	scopeKey       struct{}
	idempotencyKey struct{}
)

// A scope is what a context leads to.
type scope struct {
	app    *App
	inside bool  // the state is locked for whoever has this context
	work   *work // what a worker is doing, if it is one
}

// A work is the handling of one event, or one tick, by a worker.
type work struct {
	prefix string // of its commands' idempotency keys
	byData bool   // commands with different data have different keys

	due time.Time // of a tick

	mu   sync.Mutex
	done map[string]int // how many commands it has executed so far, by type or by type and data
}

// workPrefix begins the keys of workers, and no others.
const workPrefix = "work/"

// key is the idempotency key of the worker's next command: the same when the work is done again.
func (w *work) key(entry string, data []byte) string {
	if w.byData {
		sum := sha256.Sum256(data)
		entry += "/" + hex.EncodeToString(sum[:8])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done == nil {
		w.done = map[string]int{}
	}
	w.done[entry]++
	return w.prefix + entry + "/" + strconv.Itoa(w.done[entry])
}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

func (s scope) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// With is a context for [Do] and [Ask], such as workers have.
func With(ctx context.Context, a *App) context.Context { return scope{app: a}.with(ctx) }

// Now is the time for who has a context that leads to the app, such as a worker; in tests it is that of the log. Apply has no
// context, and goes by the time of its entry.
func Now(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.app != nil {
		return s.app.o.Now()
	}
	return time.Now()
}

// Due is when a call of [Every] was due. It is the same when the call is repeated after a crash, so commands that hold it
// are executed once. For other callers it is [Now].
func Due(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.work != nil && !s.work.due.IsZero() {
		return s.work.due
	}
	return Now(ctx)
}

// WithKey gives a key to the command that is executed with the context. Of several commands with the same key one is
// executed; the others have its result, and add nothing to the log. The key of a different command is refused.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, key)
}
