package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// A watchedStore is the store of an app. It turns the errors of a store into an [eventlog.Error],
// logs when failures begin and end, and knows whether the store works.
type watchedStore struct {
	eventlog.Store
	logger *slog.Logger
	opened *atomic.Bool // startup has replayed the log

	mu      sync.Mutex
	reason  string    // of the failure; empty if the store works
	since   time.Time // when the failure began
	calls   int       // that have failed since
	seen    int       // calls at the last probe
	suspect bool      // the last probe was the first that failed
	writes  bool      // a Write has failed since
}

// Changed implements [eventlog.Notifier]. The channel is nil if the store does not notify.
func (s *watchedStore) Changed() <-chan struct{} {
	if n, ok := s.Store.(eventlog.Notifier); ok {
		return n.Changed()
	}
	return nil
}

func (s *watchedStore) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return withErrors(s.Store.Records(ctx, after), func(err error) error { return s.check(ctx, err) })
}

func (s *watchedStore) Last(ctx context.Context) (int64, error) {
	last, err := s.Store.Last(ctx)
	return last, s.check(ctx, err)
}

func (s *watchedStore) Stamp(ctx context.Context) (int64, error) {
	stamp, err := s.Store.Stamp(ctx)
	return stamp, s.check(ctx, err)
}

func (s *watchedStore) Get(ctx context.Context, name string) ([]byte, error) {
	value, err := s.Store.Get(ctx, name)
	return value, s.check(ctx, err)
}

func (s *watchedStore) Names(ctx context.Context, prefix string) ([]string, error) {
	names, err := s.Store.Names(ctx, prefix)
	return names, s.check(ctx, err)
}

func (s *watchedStore) Documents(ctx context.Context, prefix, after string) iter.Seq2[eventlog.Document, error] {
	return withErrors(s.Store.Documents(ctx, prefix, after), func(err error) error { return s.check(ctx, err) })
}

func (s *watchedStore) View(ctx context.Context, f func(eventlog.View) error) error {
	var own error
	err := s.Store.View(ctx, func(v eventlog.View) error { own = f(v); return own })
	if own != nil && !errors.Is(err, eventlog.ErrUnavailable) && !errors.Is(err, eventlog.ErrFull) {
		return err
	}
	return s.check(ctx, err)
}

func (s *watchedStore) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	var own error
	err := s.Store.Write(ctx, func(tx eventlog.Tx) error { own = f(watchedTx{tx}); return own })
	if own != nil && !isFailure(own) {
		return err
	}
	if err = s.check(ctx, err); isFailure(err) {
		s.mu.Lock()
		s.writes = s.reason != ""
		s.mu.Unlock()
	}
	return err
}

// withErrors yields the values of a sequence, with converted errors.
func withErrors[T any](all iter.Seq2[T, error], convert func(error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for value, err := range all {
			if !yield(value, convert(err)) {
				return
			}
		}
	}
}

// check returns the error of a call, as an [eventlog.Error] unless the caller has given up, and
// records it.
func (s *watchedStore) check(ctx context.Context, err error) error {
	if err == nil || errors.Is(err, eventlog.ErrConflict) || ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		return err
	}
	err = storeError(err)
	if !s.opened.Load() || errors.Is(err, fs.ErrClosed) {
		return err // Open returns it; or this process is ending
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.reason == "" {
		s.fail(err)
	}
	return err
}

// failure returns why the store does not work; empty if it does.
func (s *watchedStore) failure() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// fail records why the store does not work, and logs it. s.mu is held.
func (s *watchedStore) fail(err error) {
	if s.reason == "" {
		s.since = time.Now()
	}
	s.reason = failureReason(err)
	s.logger.Error("the store does not work", "reason", s.reason, "error", err)
}

// failureReason returns the reason of [Health] for an error of a store.
func failureReason(err error) string {
	switch {
	case errors.Is(err, eventlog.ErrFull):
		return "full"
	case errors.Is(err, eventlog.ErrUnavailable):
		return "unreachable"
	}
	return "failed"
}

// storeError returns an error of a store as an [eventlog.Error].
func storeError(err error) error {
	if err == nil || isFailure(err) || errors.Is(err, eventlog.ErrConflict) {
		return err
	}
	return &eventlog.Error{Err: err}
}

// isFailure reports whether an error is or contains that of a store.
func isFailure(err error) bool {
	_, ok := errors.AsType[*eventlog.Error](err)
	return ok
}

// withError returns a result, with its error as an [eventlog.Error].
func withError[T any](value T, err error) (T, error) { return value, storeError(err) }

// A watchedTx returns the errors of a Tx as an [eventlog.Error]. The watchedStore records them.
type watchedTx struct{ eventlog.Tx }

func (t watchedTx) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return withErrors(t.Tx.Records(after), storeError)
}

func (t watchedTx) Get(name string) ([]byte, error)       { return withError(t.Tx.Get(name)) }
func (t watchedTx) Names(prefix string) ([]string, error) { return withError(t.Tx.Names(prefix)) }

func (t watchedTx) Documents(prefix, after string) iter.Seq2[eventlog.Document, error] {
	return withErrors(t.Tx.Documents(prefix, after), storeError)
}

func (t watchedTx) Stamp() (int64, error) { return withError(t.Tx.Stamp()) }

func (t watchedTx) Find(keys ...string) (map[string]eventlog.Record, error) {
	return withError(t.Tx.Find(keys...))
}

func (t watchedTx) Append(records ...eventlog.Record) error {
	return storeError(t.Tx.Append(records...))
}
func (t watchedTx) Replace(records ...eventlog.Record) error {
	return storeError(t.Tx.Replace(records...))
}
func (t watchedTx) Put(name string, value []byte) error { return storeError(t.Tx.Put(name, value)) }

const (
	probeInterval = 800 * time.Millisecond
	probeTimeout  = 3 * time.Second
	probeDocument = "probe"
	probeBytes    = 64 << 10
)

// probe tries the store. A failure begins with the second probe that fails, because calls do not
// notice short ones. It ends if a probe succeeds and no call has failed since the last one.
func (s *watchedStore) probe(ctx context.Context) {
	s.mu.Lock()
	works, writes := s.reason == "", s.writes
	s.mu.Unlock()
	pinger, ok := s.Store.(eventlog.Pinger)
	if works && !ok {
		return // Run reads the stamp often
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	var err error
	switch {
	case writes:
		err = s.tryWrite(limited)
	case ok:
		err = pinger.Ping(limited)
	default:
		_, err = s.Store.Last(limited)
	}
	if ctx.Err() != nil || errors.Is(err, fs.ErrClosed) {
		return
	}
	silent := err != nil && limited.Err() != nil
	if silent {
		err = fmt.Errorf("no answer after %v: %w", probeTimeout, eventlog.ErrUnavailable)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.suspect
	s.suspect = err != nil && s.reason == ""
	switch {
	case s.suspect && !before:
	case err != nil && (s.reason == "" || !silent && s.reason != failureReason(err)):
		s.fail(err)
	case err == nil && s.reason != "" && s.calls == s.seen:
		s.logger.Warn("the store works again", "failed_calls", s.calls, "duration", time.Since(s.since).Round(time.Millisecond))
		s.reason, s.calls, s.writes = "", 0, false
	}
	s.seen = s.calls
}

// tryWrite writes a document that needs some space, and removes it.
func (s *watchedStore) tryWrite(ctx context.Context) error {
	value := make([]byte, probeBytes)
	rand.Read(value) // never fails; the store cannot compress it
	err := s.Store.Write(ctx, func(tx eventlog.Tx) error { return tx.Put(probeDocument, value) })
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(tx eventlog.Tx) error { return tx.Put(probeDocument, nil) })
}
