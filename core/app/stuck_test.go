package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// CountMore is Count of a newer build: it has an optional field more.
type CountMore struct {
	By   int    `json:"by"`
	Unit string `json:"unit,omitempty"`
}

func (c CountMore) Check(context.Context, *State) error { return nil }
func (c CountMore) Apply(s *State, _ app.Event) int     { s.Total += c.By; return s.Total }

// Explode panics when it is applied with the data of a newer build.
type Explode struct {
	How string `json:"how"`
}

func (c Explode) Check(context.Context, *State) error { return nil }
func (c Explode) Apply(s *State, _ app.Event) string {
	if s.Total++; c.How == "new" {
		panic("exploded")
	}
	return c.How
}

// CountItems is a command of another feature whose check asks for the total of items.
type CountItems struct{}

func (CountItems) Check(ctx context.Context, _ *Tagged) error {
	_, err := app.Query(ctx, Total{})
	return err
}
func (CountItems) Apply(s *Tagged, _ app.Event) int { return len(s.Tags) }

// Tags asks for the tags.
type Tags struct{}

func (Tags) Answer(_ context.Context, s *Tagged) ([]int, error) { return s.Tags, nil }

// TagsAndTotal is a query that asks another feature.
type TagsAndTotal struct{}

func (TagsAndTotal) Answer(ctx context.Context, s *Tagged) (int, error) {
	n, err := app.Query(ctx, Total{})
	return n + len(s.Tags), err
}

// builds are the features of an older build.
func builds() []app.Feature {
	f, g := items(), tags()
	f.Commands = append(f.Commands, app.CommandTypeOf[Explode]("explode", 1))
	g.Commands = append(g.Commands, app.CommandTypeOf[CountItems]("countitems", 1))
	g.Queries = []app.QueryType{app.QueryTypeOf[Tags]("tags")}
	return []app.Feature{f, g}
}

// A running process that cannot apply an event refuses the commands of its feature. It answers
// queries as of the event before, and marks them as stale, unless Apply panicked. An amendment lets
// the feature continue.
func TestRunningBuildMeetsNewerEvent(t *testing.T) {
	for _, test := range []struct {
		name, kind string
		version    int
		data, says string
	}{
		{"unknown field", "items/count", 1, `{"by":1,"unit":"kg"}`, "items/count, version 1, 0001-01-01 00:00:00) does not fit app_test.Count: field \"unit\" is unknown"},
		{"missing field", "items/count", 1, `{}`, `field "by" is missing`},
		{"newer version", "items/count", 2, `{"by":1}`, "is newer than this build, which knows items/count up to version 1"},
		{"unknown command", "items/tally", 1, `{"amount":1}`, "has no command: items/tally was removed or renamed"},
		{"panic in Apply", "items/explode", 1, `{"how":"new"}`, "cannot be applied: panic: exploded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			o := quiet()
			marked := 0
			o.OnStale = func(_ context.Context, stuck *app.StuckError) {
				if marked++; stuck.Record.Seq != 2 {
					t.Errorf("stale since event %d, want 2", stuck.Record.Seq)
				}
			}
			a, err := app.Open(t.Context(), m.Share(), o, builds()...)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.DoRaw(app.WithKey(t.Context(), "k"), a, Count{5}); err != nil {
				t.Fatal(err)
			}
			record(t, m, test.kind, test.version, test.data)
			stopped, state := test.name == "panic in Apply", "stale"
			begins := "the event log is newer than this process; restart it with the newer build\nevent 2 of the log ("
			if stopped { // a newer build may not help
				begins, state = "event 2 of the log (", "stopped"
			}
			check := func(what string, err error) {
				t.Helper()
				var stuck *app.StuckError
				if !errors.As(err, &stuck) || !strings.HasPrefix(err.Error(), begins) || !strings.Contains(err.Error(), test.says) || errors.Is(err, app.ErrRefused) {
					t.Errorf("%s, want %q first, %q in it: %v", what, begins, test.says, err)
				}
			}
			if stopped {
				_, err := app.QueryRaw(t.Context(), a, Total{})
				check("a query", err)
			} else if n := total(t, a); n != 5 || marked != 1 {
				t.Errorf("the total is %d, marked as stale %d times; want 5, marked once", n, marked)
			}
			if h := a.Health(); len(h.Features) != 1 || h.Features["items"] != state {
				t.Errorf(`the health is %+v, want only items: %v`, h, state)
			}
			marked = 0
			_, err = app.DoRaw(t.Context(), a, Count{1})
			check("a command", err)
			_, err = app.DoRaw(t.Context(), a, CountItems{})
			check("a command that asks the feature", err)
			if _, err := app.Query(app.With(t.Context(), a), TagsAndTotal{}); stopped != (err != nil) || stopped == (marked > 0) {
				t.Errorf("a query that asks the feature: %v, marked as stale %d times; want an error and no mark: %t", err, marked, stopped)
			}
			_, err = a.Dump(t.Context())
			check("a dump", err)
			if result, err := app.DoRaw(app.WithKey(t.Context(), "k"), a, Count{5}); err != nil || string(result) != "5" {
				t.Errorf("a command that was executed before: %s, %v, want \"5\"", result, err)
			}

			execute(t, a, Tag{[]int{1, 2}})
			record(t, m, "items/count", 1, `{"by":100}`) // not applied: the feature is stuck
			record(t, m, "others/make", 1, `{}`)         // of a feature that this build does not have
			execute(t, a, Raise{})
			if got, err := app.Query(app.With(t.Context(), a), Tags{}); err != nil || len(got) != 2 || got[0] != 2 {
				t.Errorf("the other feature has %v, %v; want two tags, the first 2", got, err)
			}
			status, err := a.Status(t.Context())
			if err != nil || !strings.HasPrefix(status.Features[0].Stuck, begins) || status.Features[0].Stale == stopped || status.Features[1].Stuck != "" || status.Seq != 6 {
				t.Errorf("%+v, %v, want %q first, Features[1].Stuck %q, Seq 6", status, err, begins, "")
			}
			if err := a.Snapshot(t.Context()); err != nil {
				t.Error(err)
			}
			if names, err := m.Names(t.Context(), "snapshot/"); err != nil || len(names) != 2 || !strings.HasPrefix(names[0], "snapshot/tags/same/") {
				t.Errorf("there are the snapshots %v, %v; want two, the first below snapshot/tags/same/", names, err)
			}
			if _, err := app.Open(t.Context(), m.Share(), quiet(), builds()...); err == nil || !strings.HasPrefix(err.Error(), "event 2 of the log (") {
				t.Errorf("at the start: %v, want an error that starts with %q", err, "event 2 of the log (")
			}

			if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Skip: true, Reason: "a test"}); err != nil {
				t.Fatal(err)
			}
			if n := total(t, a); n != 105 {
				t.Errorf("after the amendment the total is %d, want 105", n)
			}
			execute(t, a, Count{1})
			if got, err := app.Query(app.With(t.Context(), a), Tags{}); err != nil || len(got) != 2 || got[0] != 2 {
				t.Errorf("then the other feature has %v, %v; want two tags, the first 2", got, err)
			}
		})
	}
}

// A new optional field is one-way: the older build refuses the events that have it, and reads those
// that do not.
func TestOptionalFieldIsOneWay(t *testing.T) {
	m := eventlog.NewMemory()
	fresh := items()
	fresh.Commands[1] = app.CommandTypeOf[CountMore]("count", 1)
	older, newer := open(t, m.Share()), open(t, m.Share(), fresh)
	execute(t, older, Count{1})
	execute(t, newer, CountMore{By: 10})
	if n := total(t, older); n != 11 {
		t.Errorf("the total is %d, want 11", n)
	}
	execute(t, newer, CountMore{100, "kg"})
	_, err := app.DoRaw(t.Context(), older, Count{1})
	if err == nil || !strings.HasPrefix(err.Error(), "the event log is newer than this process; restart it with the newer build\nevent 3 ") || !strings.Contains(err.Error(), `field "unit" is unknown`) {
		t.Errorf("got error %v, want %q first, %q in it", err, "the event log is newer than this process; restart it with the newer build\nevent 3 ", `field "unit" is unknown`)
	}
	if n := total(t, newer); n != 111 {
		t.Errorf("in the newer build the total is %d, want 111", n)
	}
}

// Commands of a stuck feature do not affect others in their transaction.
func TestStuckInABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		a := open(t, m.Share(), builds()...)
		record(t, m, "items/tally", 1, `{}`)
		hold := make(chan struct{})
		go m.Write(t.Context(), func(eventlog.Tx) error { <-hold; return nil })
		synctest.Wait()
		stuck, fine := make(chan error, 3), make(chan error, 3)
		for range 3 {
			go func() { _, err := app.DoRaw(t.Context(), a, Count{1}); stuck <- err }()
			synctest.Wait()
			go func() { _, err := app.DoRaw(t.Context(), a, Tag{[]int{1}}); fine <- err }()
			synctest.Wait()
		}
		close(hold)
		for range 3 {
			var e *app.StuckError
			if err := <-stuck; !errors.As(err, &e) {
				t.Errorf("the stuck feature returns %v, want a StuckError", err)
			}
			if err := <-fine; err != nil {
				t.Error(err)
			}
		}
		if n := last(t, m); n != 4 {
			t.Errorf("the log has %d events, want 4", n)
		}
	})
}

// tagging has a worker that follows the commands of both features, and one that follows only tags.
func tagging(world *outside) []app.Feature {
	both := builds()
	begin := func(context.Context) (*Mailer, error) { return &Mailer{world: world}, nil }
	onTag := func(m *Mailer, ctx context.Context, _ Tag, _ app.Event) error { return m.world.send(ctx, "tag") }
	both[1].Workers = []app.Worker{
		app.WorkerOf("both", begin, app.FromStart[Mailer](), app.On(onTag),
			app.On(func(m *Mailer, ctx context.Context, c Count, _ app.Event) error { return m.world.send(ctx, "count") })),
		app.WorkerOf("tags", begin, app.FromStart[Mailer](), app.On(func(m *Mailer, ctx context.Context, _ Raise, _ app.Event) error {
			if _, err := app.Query(ctx, Total{}); err != nil {
				return err
			}
			return m.world.send(ctx, "raise")
		})),
	}
	return both
}

// A worker that follows or asks a stuck feature waits, and continues after an amendment. Nothing is
// set aside.
func TestWorkersWaitForAStuckFeature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		a := open(t, m.Share(), tagging(world)...)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); a.Run(ctx) }()
		execute(t, a, Count{1})
		time.Sleep(time.Second)
		record(t, m, "items/count", 2, `{}`)
		execute(t, a, Tag{[]int{1}})
		execute(t, a, Raise{})
		time.Sleep(time.Hour)
		if got := world.list(); got != "count" {
			t.Errorf("they have done %s, want \"count\"", got)
		}
		all, err := app.NewAdmin(m.Share(), app.Options{}).Workers(t.Context())
		if err != nil || len(all) != 2 {
			t.Fatalf("the workers are %+v, %v; want two", all, err)
		}
		for i, seq := range []int64{2, 4} {
			if w := all[i]; w.Position != seq-1 || w.Trying != seq || len(w.Aside) != 0 || !strings.HasPrefix(w.Error, "the event log is newer than this process; restart it") {
				t.Errorf("the worker is %+v, want position %d, trying %d, nothing set aside and the error %q", w, seq-1, seq, "the event log is newer than this process; restart it")
			}
		}
		world.mu.Lock()
		world.sent = nil
		world.mu.Unlock()
		time.Sleep(time.Hour + time.Millisecond) // then no timer of a worker ends
		if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Skip: true, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // less than a worker waits after an error
		if got := world.list(); got != "tag raise" && got != "raise tag" {
			t.Errorf("after the amendment they have done %q, want tag and raise", got)
		}
		cancel()
		<-done
		all, err = app.NewAdmin(m.Share(), app.Options{}).Workers(t.Context())
		if err != nil || all[0].Error+all[1].Error != "" || all[0].Behind+all[1].Behind != 0 {
			t.Errorf("%+v, %v, want all[0].Error+Error %q, all[0].Behind+Behind 0", all, err, "")
		}
	})
}
