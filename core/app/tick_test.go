package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Ticker executes commands periodically.
type Ticker struct{}

// ticking has a worker that executes commands periodically: two equal ones every minute, and a tag
// for each missing item every hour.
func ticking() []app.Feature {
	both := builds()
	both[0].Workers = []app.Worker{app.WorkerOf("ticker", func(context.Context) (*Ticker, error) { return &Ticker{}, nil },
		app.Every(time.Minute, func(_ *Ticker, ctx context.Context) error {
			_, err := app.Do(ctx, Count{1})
			_, again := app.Do(ctx, Count{1})
			return errors.Join(err, again)
		}),
		app.Every(time.Hour, func(_ *Ticker, ctx context.Context) error {
			for i := range 3 {
				have, err := app.Query(ctx, Get{Name: fmt.Sprint(i)})
				if have != nil && err == nil {
					continue
				}
				if _, err := app.Do(ctx, Add{Name: fmt.Sprint(i)}); err != nil {
					return err
				}
			}
			return nil
		}))}
	return both
}

// killed is the store of a process that dies right after it has appended n events.
type killed struct {
	*eventlog.Memory
	left int
}

func (k *killed) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	if k.left == 0 {
		return errors.New("it is dead")
	}
	before, err := k.Last(ctx)
	if err != nil {
		return err
	}
	if err := k.Memory.Write(ctx, f); err != nil {
		return err
	}
	after, err := k.Last(ctx)
	k.left -= min(k.left, int(after-before))
	return err
}

// run runs an app on a store for a while.
func run(t *testing.T, s eventlog.Store, d time.Duration, features ...app.Feature) {
	t.Helper()
	a := open(t, s, features...)
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	a.Run(ctx)
}

// A process that dies right after a tick's command was committed leaves the tick to the next
// process, which does not execute the command again.
func TestTickOnceAcrossACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, dies := range []int{1, 2} {
			m := eventlog.NewMemory()
			run(t, &killed{m.Share(), dies}, 61*time.Second, ticking()...)
			if n := last(t, m); n != int64(dies) {
				t.Fatalf("executed %d commands before the process died, want %v", n, int64(dies))
			}
			run(t, m.Share(), 30*time.Second, ticking()...) // the lease runs out, and the tick is due still
			if n := total(t, open(t, m.Share(), ticking()...)); n != 2 {
				t.Errorf("died after %d commands: one tick has counted to %d, want 2", dies, n)
			}
			run(t, m.Share(), time.Minute, ticking()...)
			if n := total(t, open(t, m.Share(), ticking()...)); n != 4 {
				t.Errorf("died after %d commands: two ticks have counted to %d, want 4", dies, n)
			}
		}
	})
}

// A repeated tick that finds part of its work done executes the rest of it.
func TestTickGoesOnAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		features := ticking()
		features[0].Workers = []app.Worker{features[0].Workers[0]}
		m := eventlog.NewMemory()
		// 120 events in the first hour, and the first of the three items.
		run(t, &killed{m.Share(), 121}, time.Hour+time.Second, features...)
		run(t, m.Share(), 30*time.Second, features...)
		a := open(t, m.Share(), features...)
		for i := range 3 {
			if _, err := app.Query(app.With(t.Context(), a), Get{Name: fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		}
	})
}

// After intervals in which no process ran there is one tick. If the clock was set back, or the
// interval changed, no command is executed twice or left out.
func TestTickAndTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		offset := time.Duration(0)
		o := quiet()
		o.Now = func() time.Time { return time.Now().Add(offset) }
		tick := func(want int) {
			t.Helper()
			a, err := app.Open(t.Context(), m.Share(), o, ticking()...)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 61*time.Second)
			defer cancel()
			a.Run(ctx)
			if n := total(t, a); n != want {
				t.Errorf("counted to %d, want %d", n, want)
			}
		}
		tick(2)
		time.Sleep(20 * time.Minute)
		tick(6) // one at once for the time in between, and one a minute later
		offset = -24 * time.Hour
		tick(8)
		tick(10)
		offset = 0
		tick(14)
	})
}

// WorkOnce ticks each time that it is called, whatever the clock says.
func TestWorkOnceTicksAgain(t *testing.T) {
	o := quiet()
	o.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	a, err := app.Open(t.Context(), eventlog.NewMemory(), o, ticking()...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := a.WorkOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := total(t, a); n != 2*(i+1) {
			t.Errorf("after %d times it has counted to %d, want %v", i+1, n, 2*(i+1))
		}
	}
}

// A command that holds the due time is executed once, however late the tick is repeated.
func TestDueIsTheSameAfterACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type clock struct{}
		features := ticking()
		features[0].Workers = []app.Worker{app.WorkerOf("clock", func(context.Context) (*clock, error) { return &clock{}, nil },
			app.Every(time.Minute, func(_ *clock, ctx context.Context) error {
				_, err := app.Do(ctx, Add{Name: app.Due(ctx).Format(time.RFC3339Nano)})
				return err
			}))}
		m := eventlog.NewMemory()
		run(t, m.Share(), 61*time.Second, features...)
		before := last(t, m)
		run(t, &killed{m.Share(), 1}, 2*time.Minute, features...)
		run(t, m.Share(), 20*time.Second, features...)
		if n := last(t, m); n != before+1 {
			t.Errorf("the interrupted tick has added %d events, want 1", n-before)
		}
	})
}
