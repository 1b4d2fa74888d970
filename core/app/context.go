package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/strictjson"
)

// With returns a context for [Do] and [Query]. The contexts of workers, checks, queries and tools
// contain the app already; use With in tests and in programs without tools.
func With(ctx context.Context, a *App) context.Context {
	return scope{app: a, actor: scopeOf(ctx).actor}.with(ctx)
}

// Actor returns the name of the caller of a command, query or tool; empty if it is unknown. The log
// records it with each command. Workers are callers too, with names such as worker:posts/digest.
// Apply must use the actor of its event instead.
func Actor(ctx context.Context) string {
	s := scopeOf(ctx)
	return s.app.actor(ctx, s)
}

// WithActor sets the caller of the commands and queries that use the context, unless actor is
// empty. A worker uses it to act for the actor of its event.
func WithActor(ctx context.Context, actor string) context.Context {
	if actor == "" {
		return ctx
	}
	s := scopeOf(ctx)
	s.actor = actor
	return s.with(ctx)
}

// Now returns the current time of the app of ctx; in tests it follows the test's clock. Apply must
// use the time of its event instead.
func Now(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.app != nil {
		return s.app.o.Now()
	}
	return time.Now()
}

// Due returns the time at which a call of [Every] was due, and [Now] for other callers. A call that
// is repeated after a crash has the same due time, so commands that contain it are executed once.
func Due(ctx context.Context) time.Time {
	if s := scopeOf(ctx); s.call != nil && !s.call.due.IsZero() {
		return s.call.due
	}
	return Now(ctx)
}

// WithKey sets the idempotency key of the command that is executed with the context. A repeated
// command with the same key is not executed again; it returns the first result. Using the key for a
// different command is an error.
func WithKey(ctx context.Context, key string) context.Context { return WithKeyOf(ctx, "", key) }

// WithKeyOf is [WithKey] with a separate set of keys for each caller. Use it if callers choose the
// keys: they cannot see each other's results. Callers without a name share one set.
func WithKeyOf(ctx context.Context, caller, key string) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, callerKey{storedKey(caller, key), key})
}

// A callerKey is the idempotency key of a context.
type callerKey struct {
	stored string // as stored in the log
	given  string // as the caller chose it
}

// storedKey returns a caller's key as it is stored: after a hash of the caller's name. The key of a
// caller without a name is stored as it is, unless it could be that of a caller with a name.
func storedKey(caller, key string) string {
	if key == "" || caller == "" && !hashedCaller.MatchString(key) {
		return key
	}
	sum := sha256.Sum256([]byte(caller))
	return hex.EncodeToString(sum[:8]) + ":" + key
}

// hashedCaller matches the start of a stored key of a caller with a name.
var hashedCaller = regexp.MustCompile("^[0-9a-f]{16}:")

// scopeKey and idempotencyKey are context keys.
type (
	scopeKey       struct{}
	idempotencyKey struct{}
)

// A scope is the value that the app stores in a context.
type scope struct {
	app       *App
	holdsLock bool        // a check or query, which holds the lock on the states
	inCheck   bool        // a check, whose queries must not be stale
	call      *workerCall // nil outside of workers
	actor     string      // empty means that of [Options]
}

func scopeOf(ctx context.Context) scope {
	s, _ := ctx.Value(scopeKey{}).(scope)
	return s
}

func (s scope) with(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// actor returns the caller of a context with scope s. a may be nil.
func (a *App) actor(ctx context.Context, s scope) string {
	if s.actor != "" || a == nil || a.o.Actor == nil {
		return s.actor
	}
	return a.o.Actor(ctx)
}

// cause returns why a command is executed with a context with scope s, as JSON; nil if it is
// unknown.
func (a *App) cause(ctx context.Context, s scope) (json.RawMessage, error) {
	var why eventlog.Cause
	switch {
	case s.call != nil:
		why = s.call.cause
	case a.o.Cause != nil:
		why = a.o.Cause(ctx)
	}
	if why == (eventlog.Cause{}) {
		return nil, nil
	}
	return strictjson.Marshal(why)
}

// A workerCall is one call of a worker's method, for an event or on schedule.
type workerCall struct {
	prefix string         // of the idempotency keys of its commands
	byData bool           // commands with different data have different keys
	due    time.Time      // of a call on schedule
	cause  eventlog.Cause // of its commands

	mu     sync.Mutex
	counts map[string]int // of commands so far, by type or by type and data
}

// workPrefix starts the idempotency keys of workers. Other keys must not start with it.
const workPrefix = "work/"

// nextKey returns the idempotency key of the next command. A repeated call has the same keys.
func (w *workerCall) nextKey(eventType string, data []byte) string {
	id := eventType
	if w.byData {
		sum := sha256.Sum256(data)
		id += "/" + hex.EncodeToString(sum[:8])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[id]++
	return w.prefix + id + "/" + strconv.Itoa(w.counts[id])
}
