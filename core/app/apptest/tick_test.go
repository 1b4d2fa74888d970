package apptest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// tickChild makes a worker tick once, with a clock that is some minutes ahead. If it is to die, it
// does so right after the command of the tick is committed.
func tickChild(ctx context.Context, _ *app.App) error {
	var minutes int
	var die bool
	if _, err := fmt.Scan(&minutes, &die); err != nil {
		return err
	}
	tick := func(_ *struct{}, ctx context.Context) error {
		noted, err := app.Do(ctx, Note{Name: "tick"})
		if err != nil {
			return err
		}
		fmt.Println(noted.Seq)
		if die {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			return errors.Join(self.Kill(), errors.New("it lives"))
		}
		return nil
	}
	f := tally()
	f.Workers = []app.Worker{app.WorkerOf("clock", func(context.Context) (*struct{}, error) { return &struct{}{}, nil }, app.Every(time.Hour, tick))}
	s, err := openStore(ctx, os.Args[1])
	if err != nil {
		return err
	}
	ahead := func() time.Time { return time.Now().Add(time.Duration(minutes) * time.Minute) } // no lease of another process lasts so long
	a, err := app.Open(ctx, struct{ eventlog.Store }{s}, app.Options{Now: ahead}, f)          // not a Monitor, so the clock decides
	if err != nil {
		return err
	}
	return errors.Join(a.WorkOnce(ctx), s.Close())
}

// If a process is killed right after the command of a tick was committed, the tick is repeated, and
// the command is not. The next tick executes another command.
func TestKilledTick(t *testing.T) { onEachStore(t, testKilledTick) }

func testKilledTick(t *testing.T, path string) {
	for round := range 3 {
		want := fmt.Sprint(round + 1)
		killed := startChild(t, "tick", path)
		fmt.Fprintln(killed.in, 2*round, true)
		if got := killed.line(t); got != want {
			t.Fatalf("its command is event %s, want %s", got, want)
		}
		if err := killed.Wait(); err == nil {
			t.Fatal("the process was not killed")
		}
		again := startChild(t, "tick", path)
		fmt.Fprintln(again.in, 2*round+1, false)
		if got := again.line(t); got != want {
			t.Errorf("after the kill its command is event %s, want %s", got, want)
		}
		again.end(t)
	}
}
