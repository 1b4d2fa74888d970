// Callers measures how many commands a second one process executes in SQLite and in PostgreSQL, for
// different numbers of concurrent callers, with and without idempotency keys.
//
//	.ci/postgres go -C .bench run ./callers
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/postgres"
	"github.com/petrock/petrock/core/app/sqlite"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "callers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	each := flag.Duration("time", 2*time.Second, "duration of one measurement")
	flag.Parse()
	address := os.Getenv("PETROCK_POSTGRES")
	if address == "" {
		return errors.New("PETROCK_POSTGRES is not set; run .ci/postgres go -C .bench run ./callers")
	}
	dir, err := os.MkdirTemp("", "petrock-callers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file, err := sqlite.Open(ctx, filepath.Join(dir, "log.db"))
	if err != nil {
		return err
	}
	defer file.Close()
	database, err := postgres.Open(ctx, address, "callers", eventlog.OpenOrCreate)
	if err != nil {
		return err
	}
	defer database.Close()
	for _, store := range []struct {
		name string
		eventlog.Store
	}{{"SQLite", file}, {"PostgreSQL", database}} {
		a, err := app.Open(ctx, store.Store, app.Options{Logger: slog.New(slog.DiscardHandler), NoSnapshot: true}, notes())
		if err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond) // until the store listens
		for _, keys := range []bool{false, true} {
			for _, callers := range []int{1, 16, 64, 256} {
				rate, err := measure(ctx, a, callers, keys, *each)
				if err != nil {
					return err
				}
				fmt.Printf("%-10s  %3d callers  keys: %-5t  %7.0f commands/s, %6.2f ms each\n", store.name, callers, keys, rate, float64(callers)/rate*1000)
			}
		}
	}
	return nil
}

// measure returns the number of commands a second.
func measure(ctx context.Context, a *app.App, callers int, keys bool, each time.Duration) (float64, error) {
	var group sync.WaitGroup
	begin := time.Now()
	counts, errs := make([]int, callers), make([]error, callers)
	for caller := range callers {
		group.Go(func() {
			for time.Since(begin) < each && errs[caller] == nil {
				ctx := ctx
				if keys {
					ctx = app.WithKey(ctx, fmt.Sprintf("%d of %d: %d", caller, callers, counts[caller]))
				}
				_, errs[caller] = app.DoRaw(ctx, a, Note{int64(caller), "a text of some length"})
				counts[caller]++
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(begin).Seconds(), errors.Join(errs...)
}

// State holds notes by number.
type State struct{ Notes map[int64]string }

// Note is a small command.
type Note struct {
	N    int64  `json:"n"`
	Text string `json:"text"`
}

// Check accepts every note.
func (Note) Check(context.Context, *State) error { return nil }

// Apply stores the note.
func (c Note) Apply(s *State, _ app.Event) int {
	s.Notes[c.N] = c.Text
	return len(s.Notes)
}

func notes() app.Feature {
	return app.Feature{
		Name:     "notes",
		State:    app.StateOf(func() *State { return &State{Notes: map[int64]string{}} }),
		Commands: []app.CommandType{app.CommandTypeOf[Note]("note", 1)},
	}
}
