package app_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// scenario opens a scenario on a copy of a store, without the waits of real time.
func scenario(t *testing.T, m *eventlog.Memory, f app.Feature) (s *app.Scenario, memory *eventlog.Memory) {
	t.Helper()
	err := m.View(t.Context(), func(v eventlog.View) (err error) {
		memory, err = app.CopyToMemory(t.Context(), v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = app.OpenScenario(t.Context(), memory, time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC), quiet(), f); err != nil {
		t.Fatal(err)
	}
	return s, memory
}

// A scenario runs workers at the times of its clock, and does not wait. The store that it was copied
// from stays as it is, although a process holds the leases of its workers.
func TestScenario(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		running := start(t, m, mailing(&outside{}))
		defer running.end()
		execute(t, running.App, Add{Name: "a"})
		synctest.Wait()
		before := last(t, m)

		world := &outside{}
		s, memory := scenario(t, m, mailing(world))
		execute(t, s.App, Add{Name: "b"})
		if last(t, memory) != before+1 {
			t.Errorf("a command of the scenario made %d events, want 1: workers run only in Advance and Work", last(t, memory)-before)
		}
		began := time.Now()
		failures, err := s.Advance(t.Context(), time.Hour)
		if err != nil || failures != nil {
			t.Errorf("Advance returned %+v, %v", failures, err)
		}
		if got := world.list(); !strings.HasPrefix(got, "b ") && !strings.Contains(got, " b") || strings.Count(got, "total=") < 6 {
			t.Errorf("the worker sent %q, want b, and the total every ten minutes", got)
		}
		if !s.Now().Equal(time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)) || time.Since(began) != 0 {
			t.Errorf("the clock shows %v after %v of real time, want 10:00 at once", s.Now(), time.Since(began))
		}
		if all, err := s.App.Workers(t.Context()); err != nil || len(all) != 1 || all[0].Behind != 0 {
			t.Errorf("the workers are %+v, %v; want one that has handled all events", all, err)
		}
		execute(t, s.App, Add{Name: "c"})
		if r, err := app.NewAdmin(memory, app.Options{}).Find(t.Context(), last(t, memory)); err != nil || !r.Time.Equal(s.Now()) {
			t.Errorf("a command after Advance has the time %v, %v; want %v", r.Time, err, s.Now())
		}
		sent := world.list()
		if _, err := s.Work(t.Context(), "items/mailer"); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimPrefix(world.list(), sent); !strings.HasPrefix(got, " total=") || !strings.HasSuffix(got, " c") {
			t.Errorf("Work sent %q, want one total, which was not due, and c", got)
		}
		if _, err := s.Work(t.Context(), "items/other"); err == nil {
			t.Error("Work of an unknown worker succeeds")
		}
		if after := last(t, m); after != before {
			t.Errorf("the original has %d events, want %d", after, before)
		}
	})
}

// Failures are returned, with retries at their times, until the event is set aside.
func TestScenarioFailures(t *testing.T) {
	world := &outside{fail: func(name string, try int) error {
		if strings.HasPrefix(name, "total") {
			return nil
		}
		return fmt.Errorf("try %d of %s", try, name)
	}}
	s, memory := scenario(t, eventlog.NewMemory(), mailing(world))
	execute(t, s.App, Add{Name: "a"})
	failures, err := s.Work(t.Context(), "items/mailer")
	if want := []app.WorkerFailure{{Worker: "items/mailer", Event: 1, Count: 1, Error: "try 1 of a"}}; err != nil || !reflect.DeepEqual(failures, want) {
		t.Errorf("Work returned %+v, %v; want %+v", failures, err, want)
	}
	for _, step := range []struct {
		by   time.Duration
		want []app.WorkerFailure
	}{
		{100 * time.Millisecond, nil}, // the retry is due after half a second
		{time.Second, []app.WorkerFailure{{Worker: "items/mailer", Event: 1, Count: 1, Error: "try 2 of a"}}},
		{time.Hour, []app.WorkerFailure{{Worker: "items/mailer", Event: 1, Count: 4, Aside: true, Error: "try 6 of a"}}},
		{time.Hour, nil},
	} {
		if failures, err := s.Advance(t.Context(), step.by); err != nil || !reflect.DeepEqual(failures, step.want) {
			t.Errorf("Advance(%v) returned %+v, %v; want %+v", step.by, failures, err, step.want)
		}
	}
	admin := app.NewAdmin(memory, app.Options{})
	if err := admin.Retry(t.Context(), "items/mailer", 1); err != nil {
		t.Fatal(err)
	}
	want := []app.WorkerFailure{{Worker: "items/mailer", Event: 1, Count: 1, Aside: true, Error: "try 7 of a"}}
	if failures, err := s.Advance(t.Context(), 0); err != nil || !reflect.DeepEqual(failures, want) {
		t.Errorf("after a request to retry, Advance returned %+v, %v; want %+v", failures, err, want)
	}
}

// A worker that cannot be created fails in each step. One that causes the events that it handles
// ends the step.
func TestScenarioHopeless(t *testing.T) {
	f := items()
	f.Workers = []app.Worker{app.WorkerOf("broken", func(context.Context) (*Mailer, error) { return nil, errors.New("no key") }, app.On((*Mailer).OnAdd))}
	s, _ := scenario(t, eventlog.NewMemory(), f)
	for range 2 {
		failures, err := s.Work(t.Context(), "items/broken")
		if err != nil || len(failures) != 1 || failures[0].Event != 0 || failures[0].Error != "create worker: no key" {
			t.Errorf("Work returned %+v, %v; want one failure: create worker: no key", failures, err)
		}
	}
	f.Workers = []app.Worker{app.WorkerOf("echo", func(context.Context) (*Mailer, error) { return &Mailer{}, nil },
		app.On(func(_ *Mailer, ctx context.Context, c Count, e app.Event) error {
			_, err := app.Do(ctx, Count{1})
			return err
		}))}
	s, _ = scenario(t, eventlog.NewMemory(), f)
	execute(t, s.App, Count{1})
	if _, err := s.Advance(t.Context(), time.Second); err == nil || !strings.Contains(err.Error(), "unless it causes the events that it handles") {
		t.Errorf("a worker in a loop returned %v, want an error that explains it", err)
	}
	if _, err := s.Advance(t.Context(), -time.Second); err == nil {
		t.Error("a negative duration succeeds")
	}
}
