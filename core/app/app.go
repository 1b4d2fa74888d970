package app

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// Options configure an [App]. The zero value is valid.
type Options struct {
	Program string           // name of the program in messages; NAME if empty
	Logger  *slog.Logger     // nil means [slog.Default]
	Now     func() time.Time // nil means [time.Now]
	NewID   func() string    // nil means random ids

	// Actor returns the name of the caller that a context belongs to. nil means that callers have
	// no names. See [Actor].
	Actor func(context.Context) string

	// Cause returns why a command is executed with a context that does not belong to a worker. nil
	// means that it is unknown.
	Cause func(context.Context) eventlog.Cause

	// OnStale is called, with the context of a query, when the query is answered from a state that
	// lacks events because this build cannot read one. It may be nil.
	OnStale func(context.Context, *StuckError)

	// Progress is called once a second during replay, with the number of events applied so far. nil
	// logs the progress.
	Progress func(done int64)

	// Fingerprint identifies the code that decides the state of a feature. Only snapshots with the
	// same fingerprint are used. nil or an empty result means the hash of the running program.
	Fingerprint func(feature string) string

	NoSnapshot    bool // replay from the first event instead of a snapshot, and take none by itself
	NoNewSnapshot bool // take no snapshot by itself, but use one

	// Skip has the types of events to ignore, such as scratch/poke, unless a command,
	// [Feature].Maps or [Feature].Map reads them.
	Skip []string

	// Partial allows workers to follow commands of features that are not registered, as in tests.
	Partial bool

	// NoWorkers leaves the workers out, for programs that only read and do not call Run.
	NoWorkers bool

	// ReadOnly is the reason why commands are refused; empty means that they are executed. With a
	// reason, the app writes nothing to the store, and workers do not run.
	ReadOnly string

	// A worker sets an event aside after Tries failures; 0 means 6. Backoff returns the delay after
	// a failed try, counted from 1; nil means half a second, and four times as long after each
	// further try.
	Tries   int
	Backoff func(try int) time.Duration
}

// toReplay returns the options for an app that only replays the log, silently.
func (o Options) toReplay() Options {
	o.NoSnapshot, o.NoWorkers, o.Logger = true, true, slog.New(slog.DiscardHandler)
	return o
}

// An App runs a set of features on one log. It is safe for concurrent use. Execute commands with
// [Do] and run queries with [Query]. To repair a log, use an [Admin].
type App struct {
	store    *watchedStore
	o        Options
	features []*feature
	types    map[string]*registeredType       // by the name in the log
	commands map[reflect.Type]*registeredType // by the Go type
	written  map[reflect.Type]*registeredType // by the Go type of the older version that they write
	maps     map[string]*typeMap              // by the type of the events that they read
	states   map[reflect.Type]*feature        // by the Go type of their state
	process  string                           // name of this process, for leases
	outputs  strictjson.OutputEncoder         // of commands and queries
	opened   atomic.Bool                      // startup has replayed the log

	fingerprints func() map[*feature]string // of the features' code; empty if unknown

	featureHealth atomic.Pointer[map[string]string] // see Health

	queue queue
	watch watch

	monitor   eventlog.Monitor // the store; nil if it is none
	waitersMu sync.Mutex
	waiters   map[*waiter]bool

	rebuilding atomic.Bool // writers retry instead of waiting

	// mu guards the states, which include the events up to seq. Commands hold it until their
	// changes are durable.
	mu         sync.RWMutex
	seq        int64
	lastID     string // id of event seq
	stamp      int64  // of the store, when the states last caught up
	stale      bool   // an uncommitted command may have changed the states; they must be rebuilt
	behind     bool   // a rebuild has not reached the end of the log; stamp is not valid
	amendments amendments.Index
	eventCost  time.Duration // of replaying an event; 0 if it is unknown

	lastAmended []int64 // the last amended events that were applied
	edit        *Edit   // amendments that are tried; nil for none
}

// Store returns the store of the app, to read the log. Only commands may change it.
func (a *App) Store() eventlog.Store { return a.store }

// A waiter is a worker that waits for the lease of another process.
type waiter struct {
	session string        // of the owner
	misses  int           // how often in a row the session had ended
	ended   chan struct{} // closed when it has ended for certain
}

// A watch notifies goroutines and watchers of changes.
type watch struct {
	mu       sync.Mutex
	grown    chan struct{} // closed when the log grows, and replaced
	rebuilt  chan struct{} // closed when the states were rebuilt, and replaced
	count    int           // number of changes
	watchers []func()
}

// signalGrowth notifies that the log has grown.
func (a *App) signalGrowth() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.grown)
	a.watch.grown = make(chan struct{})
	a.watch.count++
}

// signalRebuilt notifies that the states were rebuilt, for example after an amendment.
func (a *App) signalRebuilt() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	close(a.watch.rebuilt)
	a.watch.rebuilt = make(chan struct{})
}

// rebuilds returns a channel that is closed when the states were rebuilt.
func (a *App) rebuilds() <-chan struct{} {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.rebuilt
}

// signalProgress notifies watchers of other changes, such as the progress of a worker.
func (a *App) signalProgress() {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	a.watch.count++
}

// changes returns a channel that is closed when the log grows, and the number of changes so far.
func (a *App) changes() (<-chan struct{}, int) {
	a.watch.mu.Lock()
	defer a.watch.mu.Unlock()
	return a.watch.grown, a.watch.count
}

// isValid reports whether the states include exactly the events up to a.seq. a.mu is held.
func (a *App) isValid() bool { return !a.stale && !a.behind }

// lock locks the states for writing. It stops waiting when ctx ends.
func (a *App) lock(ctx context.Context) error {
	return lockContext(ctx, a.mu.TryLock, a.mu.Lock, a.mu.Unlock)
}

// lockToRead locks the states for reading. It stops waiting when ctx ends.
func (a *App) lockToRead(ctx context.Context) error {
	return lockContext(ctx, a.mu.TryRLock, a.mu.RLock, a.mu.RUnlock)
}

// lockContext acquires a lock, or returns the cause of ctx if ctx ends first. A goroutine then
// releases the lock as soon as it gets it.
func lockContext(ctx context.Context, try func() bool, lock, unlock func()) error {
	if try() {
		return nil
	}
	if ctx.Done() == nil {
		lock()
		return nil
	}
	locked := make(chan struct{})
	go func() {
		lock()
		close(locked)
	}()
	select {
	case <-locked:
		return nil
	case <-ctx.Done():
		go func() {
			<-locked
			unlock()
		}()
		return context.Cause(ctx)
	}
}

// newID returns a random id of 80 bits, without characters that look alike.
func newID() string {
	const letters = "abcdefghijkmnpqrstuvwxyz23456789"
	var random [16]byte
	rand.Read(random[:]) // never fails
	for i, b := range random {
		random[i] = letters[b%32]
	}
	return string(random[:])
}

// logError logs an error of background work, at level debug if the store does not work, which is
// logged once.
func (a *App) logError(level slog.Level, message string, err error, args ...any) {
	if isFailure(err) || errors.Is(err, context.DeadlineExceeded) && a.store.failure() != "" {
		level = slog.LevelDebug
	}
	a.o.Logger.Log(context.Background(), level, message, append(args, "error", err)...)
}
