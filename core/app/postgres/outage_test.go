package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// If the database refuses connections, or accepts them and does not answer, each read fails after
// the documented time, even one that begins while another waits. So do writes and Ping.
func TestTimeouts(t *testing.T) {
	for name, dial := range map[string]pgconn.DialFunc{
		"refuses": func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: errors.New("refused")}
		},
		"is silent": func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go io.Copy(io.Discard, server)
			return client, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _, err := newStore("postgres://user@127.0.0.1/base?sslmode=disable", "schema")
				if err != nil {
					t.Fatal(err)
				}
				s.config.DialFunc = dial
				check := func(name string, limit time.Duration, f func() error) {
					t.Helper()
					start := time.Now()
					err := f()
					if took := time.Since(start); took > limit || !errors.Is(err, eventlog.ErrUnavailable) {
						t.Errorf("%s: %v after %v, want took at most %v, eventlog.ErrUnavailable", name, err, took, limit)
					}
				}
				var group sync.WaitGroup
				for range 3 {
					group.Go(func() {
						check("stamp", patience, func() error { _, err := s.Stamp(t.Context()); return err })
					})
					time.Sleep(patience / 2)
				}
				group.Wait()
				check("last", patience, func() error { _, err := s.Last(t.Context()); return err })
				check("get", patience, func() error { _, err := s.Get(t.Context(), "a"); return err })
				check("records", patience, func() (err error) {
					for _, err = range s.Records(t.Context(), 0) {
					}
					return err
				})
				check("write", s.timeout+time.Second, func() error {
					return s.Write(t.Context(), func(eventlog.Tx) error { return nil })
				})
				limited, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				check("ping", time.Second, func() error { return s.Ping(limited) })
				ended, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := s.Last(ended); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, eventlog.ErrUnavailable) {
					t.Errorf("a caller that has given up gets %v, want context.DeadlineExceeded", err)
				}
				time.Sleep(time.Minute) // pgx closes connections in the background
			})
		})
	}
}

func TestMarked(t *testing.T) {
	for code, want := range map[string]error{"53100": eventlog.ErrFull, "53200": eventlog.ErrUnavailable, "53300": eventlog.ErrUnavailable, "57P01": eventlog.ErrUnavailable, "57P03": eventlog.ErrUnavailable, "23505": nil, "42501": nil} {
		err := marked(fmt.Errorf("write: %w", &pgconn.PgError{Code: code}))
		for _, kind := range []error{eventlog.ErrFull, eventlog.ErrUnavailable} {
			if errors.Is(err, kind) != (kind == want) {
				t.Errorf("%s: got %v, want %v: %t", code, err, kind, kind == want)
			}
		}
	}
}

// state, add and sum are a feature.
type state struct{ Sum int }

type add struct{ N int }

func (add) Check(context.Context, *state) error { return nil }
func (c add) Apply(s *state, _ app.Event) int   { s.Sum += c.N; return s.Sum }

type sum struct{}

func (sum) Answer(_ context.Context, s *state) (int, error) { return s.Sum, nil }

// run runs an app on a store. The log has warnings and errors.
func run(t *testing.T, s *Store) (a *app.App, ctx context.Context, log *syncBuffer) {
	t.Helper()
	log = &syncBuffer{}
	a, err := app.Open(t.Context(), s, app.Options{Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))}, app.Feature{
		Name: "sums", State: app.StateOf(func() *state { return &state{} }), Commands: []app.CommandType{app.CommandTypeOf[add]("add", 1)}, Queries: []app.QueryType{app.QueryTypeOf[sum]("sum")},
	})
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { a.Run(running); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	return a, app.With(t.Context(), a), log
}

// An idle server notices within two seconds that the database has stopped, and that it is back, and
// logs each once.
func TestNoticesOutage(t *testing.T) {
	p := newProxy(t, newSchema(t))
	s := open(t, p.address)
	a, ctx, log := run(t, s)
	if _, err := app.Do(ctx, add{1}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := strings.Count(log.String(), "\n")
		for _, down := range []bool{true, false} {
			p.isDown.Store(down)
			p.cut(nil)
			start := time.Now()
			waitFor(t, "health changes", func() bool { return (a.Health().Store != "") == down })
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("down %t: noticed after %v, want at most %v", down, took, 2*time.Second)
			}
		}
		if got := strings.Count(log.String(), "\n"); got != before+2 {
			t.Errorf("%d lines, want %d:\n%s", got, before+2, log)
		}
	}
	if _, err := app.Do(ctx, add{1}); err != nil {
		t.Error(err)
	}
	t.Logf("\n%s", log)
}

// When the disk of the database is full, commands fail, and queries are answered. Both the failure
// and its end are noticed.
func TestFullDatabase(t *testing.T) {
	address := newSchema(t)
	s := open(t, address)
	a, ctx, log := run(t, s)
	schema := schemaOf(t, address)
	admin(t, address, `CREATE FUNCTION `+schema+`.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full USING MESSAGE = 'could not extend file: No space left on device'; END $$`)
	for _, table := range []string{"log", "documents"} {
		admin(t, address, "CREATE TRIGGER refuse BEFORE INSERT ON "+schema+"."+table+" EXECUTE FUNCTION "+schema+".refuse()")
	}
	for range 3 {
		if _, err := app.Do(ctx, add{1}); !errors.Is(err, eventlog.ErrFull) || errors.Is(err, eventlog.ErrOutcomeUnknown) {
			t.Errorf("got %v, want eventlog.ErrFull", err)
		}
		if got, err := app.Query(ctx, sum{}); got != 0 || err != nil {
			t.Errorf("got %d, %v, want 0", got, err)
		}
	}
	time.Sleep(2500 * time.Millisecond) // two probes
	if got := a.Health().Store; got != "full" || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("health %q, log:\n%s\nwant \"full\" and one line", got, log)
	}
	admin(t, address, "DROP FUNCTION "+schema+".refuse() CASCADE")
	waitFor(t, "the store works", func() bool { return a.Health().Store == "" })
	if got, err := app.Do(ctx, add{1}); got != 1 || err != nil {
		t.Errorf("got %d, %v, want 1", got, err)
	}
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("%d lines, want 2:\n%s", got, log)
	}
}

// A syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
