package app_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A broken store returns errors.
type broken struct {
	*eventlog.Memory
	mu            sync.Mutex
	reads, writes error
}

// secret is in the errors of a broken store.
const secret = "/srv/secret/log.db"

func (b *broken) set(reads, writes error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, err := range []*error{&reads, &writes} {
		if *err != nil {
			*err = fmt.Errorf("use %s: %w", secret, *err)
		}
	}
	b.reads, b.writes = reads, writes
}

func (b *broken) err(write bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if write {
		return b.writes
	}
	return b.reads
}

func (b *broken) Stamp(ctx context.Context) (int64, error) {
	if err := b.err(false); err != nil {
		return 0, err
	}
	return b.Memory.Stamp(ctx)
}

func (b *broken) Last(ctx context.Context) (int64, error) {
	if err := b.err(false); err != nil {
		return 0, err
	}
	return b.Memory.Last(ctx)
}

func (b *broken) Get(ctx context.Context, name string) ([]byte, error) {
	if err := b.err(false); err != nil {
		return nil, err
	}
	return b.Memory.Get(ctx, name)
}

func (b *broken) Names(ctx context.Context, prefix string) ([]string, error) {
	if err := b.err(false); err != nil {
		return nil, err
	}
	return b.Memory.Names(ctx, prefix)
}

func (b *broken) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		if err := b.err(false); err != nil {
			yield(eventlog.Record{}, err)
			return
		}
		b.Memory.Records(ctx, after)(yield)
	}
}

func (b *broken) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return b.Memory.Write(ctx, func(tx eventlog.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return b.err(true)
	})
}

// A failure of the store, with or without calls, is one line of the log when it begins and one when
// it ends, although workers and callers go on. Health has the reason meanwhile.
func TestOutage(t *testing.T) {
	for _, test := range []struct {
		name          string
		reads, writes error
		reason        string
		calls         bool
	}{
		{"unreachable", eventlog.ErrUnavailable, eventlog.ErrUnavailable, "unreachable", true},
		{"idle", eventlog.ErrUnavailable, eventlog.ErrUnavailable, "unreachable", false},
		{"full", nil, eventlog.ErrFull, "full", true},
		{"unknown", nil, fmt.Errorf("%w: %w", eventlog.ErrUnavailable, eventlog.ErrOutcomeUnknown), "unreachable", true},
		{"damaged", errors.New("the file is damaged"), errors.New("the file is damaged"), "failed", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log syncBuffer
				store := &broken{Memory: eventlog.NewMemory()}
				logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
				a, err := app.Open(t.Context(), store, app.Options{Logger: logger}, mailing(&outside{}))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(app.With(t.Context(), a))
				defer func() { cancel(); synctest.Wait() }()
				go a.Run(ctx)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if health := a.Health(); health.Store != "" || log.String() != "" {
					t.Fatalf("before the outage: health %q, log:\n%s\nwant both empty", health.Store, &log)
				}
				store.set(test.reads, test.writes)
				for i := range 20 {
					time.Sleep(time.Second)
					if !test.calls {
						continue
					}
					_, err := app.Do(ctx, Add{Name: fmt.Sprint("item ", i)})
					checkMasked(t, err, errors.Is(test.writes, eventlog.ErrOutcomeUnknown) && test.reads == nil)
					if _, err = app.Query(ctx, Total{}); test.reads != nil {
						checkMasked(t, err, false)
					}
				}
				synctest.Wait()
				if got := a.Health().Store; got != test.reason {
					t.Errorf("during: health %q, want %q", got, test.reason)
				}
				if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR") || !strings.Contains(got, secret) {
					t.Errorf("during: got the log\n%s, want one line with \"level=ERROR\" and %q in it", got, secret)
				}
				store.set(nil, nil)
				time.Sleep(2*time.Second + time.Millisecond)
				synctest.Wait()
				if got := a.Health().Store; got != "" {
					t.Errorf("after: health %q, want %q", got, "")
				}
				got := log.String()
				_, end, _ := strings.Cut(got, "\n")
				if strings.Count(got, "\n") != 2 || !strings.Contains(end, "level=WARN") || !strings.Contains(end, "failed_calls=") || !strings.Contains(end, "duration=2") {
					t.Errorf("after: got the log\n%s, want 2 lines, the last with level=WARN, failed_calls= and duration=2", got)
				}
				if _, err := app.Do(ctx, Add{Name: "after"}); err != nil {
					t.Error(err)
				}
				if names, _ := store.Names(t.Context(), "probe"); len(names) > 0 {
					t.Errorf("the probe has left %v, want none", names)
				}
			})
		})
	}
}

// checkMasked fails the test unless err has the details, and a text for clients that has none.
func checkMasked(t *testing.T, err error, unknown bool) {
	t.Helper()
	failed, ok := errors.AsType[*eventlog.Error](err)
	if !ok || !strings.Contains(err.Error(), secret) && !errors.Is(err, eventlog.ErrUnavailable) {
		t.Fatalf("got the error %v, want an eventlog.Error with %q, or eventlog.ErrUnavailable", err, secret)
	}
	text := failed.ForClient("r-1")
	if strings.Contains(text, "secret") || !strings.Contains(text, "(request ID: r-1)") || strings.Contains(text, "idempotency key") != unknown {
		t.Errorf(`clients get %q, want no "secret", "(request ID: r-1)" in it, and "idempotency key" in it: %t`, text, unknown)
	}
}

// An outage during an event interrupts the worker, and is not a try that failed.
func TestOutageCostsNoTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		world := &outside{held: make(chan struct{})}
		store := &broken{Memory: eventlog.NewMemory()}
		o := quiet()
		o.Tries = 2
		a, err := app.Open(t.Context(), store, o, mailing(world))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer func() { cancel(); synctest.Wait() }()
		go a.Run(ctx)
		execute(t, a, Add{Name: "a"})
		const outages = 5
		for range outages {
			time.Sleep(time.Minute)
			store.set(nil, eventlog.ErrUnavailable)
			time.Sleep(time.Minute)
			store.set(nil, nil)
		}
		time.Sleep(time.Minute)
		close(world.held)
		time.Sleep(time.Minute)
		if got := strings.Count(world.list(), "a"); got <= outages {
			t.Errorf("the worker has begun %d times, want more than %d: each outage interrupts it", got, outages)
		}
		if w := worker(t, store.Memory); len(w.Aside) != 0 || w.Behind != 0 {
			t.Errorf("the worker is %+v, want nothing behind and nothing set aside", w)
		}
	})
}

// Refusals are not failures of the store.
func TestRefusalIsNoOutage(t *testing.T) {
	a := open(t, eventlog.NewMemory())
	ctx := app.With(t.Context(), a)
	for range 2 {
		if _, err := app.Do(ctx, Add{Name: "twice"}); err != nil && !errors.Is(err, app.ErrRefused) {
			t.Error(err)
		}
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := app.Do(ended, Add{Name: "late"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
	if got := a.Health().Store; got != "" {
		t.Errorf("health: %q, want %q", got, "")
	}
}

// A syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *syncBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *syncBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
