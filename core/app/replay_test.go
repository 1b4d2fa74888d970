package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Tally is Count in another build, with other fields.
type Tally struct {
	Amount int `json:"amount"`
}

func (c Tally) Check(context.Context, *State) error { return nil }
func (c Tally) Apply(s *State, _ app.Event) int     { s.Total += c.Amount; return s.Total }

// newer is the feature items of another build: count is called tally, add is of version 2, break is
// removed.
func newer(maps func(eventlog.Record) (eventlog.Payload, error)) app.Feature {
	return app.Feature{
		Name:     "items",
		State:    app.StateOf(newState),
		Commands: []app.CommandType{app.CommandTypeOf[Tally]("tally", 1), app.CommandTypeOf[Add]("add", 2)},
		Queries:  []app.QueryType{app.QueryTypeOf[Total]("total")},
		Map:      maps,
	}
}

func mapAll(r eventlog.Record) (eventlog.Payload, error) {
	switch {
	case r.Type == "items/count":
		return eventlog.Payload{Type: "items/tally", Version: 1, Data: json.RawMessage(strings.Replace(string(r.Data), "by", "amount", 1))}, nil
	case r.Type == "items/add" && r.Version == 1:
		r.Version = 2
	case r.Type == "items/break":
		return r.Payload(), app.ErrDrop
	}
	return r.Payload(), nil
}

// Events of commands that were renamed, removed or changed are mapped, or are errors.
func TestMap(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	execute(t, a, Count{3})
	execute(t, a, Add{Name: "first"})
	if result := execute(t, a, Break{"not at all"}); result != `"done"` {
		t.Fatal(result)
	}
	b := open(t, m.Share(), newer(mapAll))
	if n := total(t, b); n != 3 {
		t.Errorf("the total is %d, want 3", n)
	}
	for _, test := range []struct {
		name string
		maps func(eventlog.Record) (eventlog.Payload, error)
		says string
	}{
		{"no map", nil, "event 1 of the log (items/count, version 1, 20"},
		{"map of less", func(r eventlog.Record) (eventlog.Payload, error) {
			if r.Type == "items/count" {
				return mapAll(r)
			}
			return r.Payload(), nil
		}, "items/add is at version 2, and no type reads version 1"},
		{"map in a cycle", func(r eventlog.Record) (eventlog.Payload, error) { r.Type += "x"; return r.Payload(), nil }, "is mapped in a cycle"},
		{"map that fails", func(r eventlog.Record) (eventlog.Payload, error) { return r.Payload(), errors.New("what is this?") }, "is refused by its map function: what is this?"},
		{"map that panics", func(r eventlog.Record) (eventlog.Payload, error) { panic("oh") }, "panic: oh (replay_test.go:"},
		{"map to rubbish", func(r eventlog.Record) (eventlog.Payload, error) {
			return eventlog.Payload{Type: "items/tally", Version: 1, Data: []byte(`{"amount":"x"}`)}, nil
		}, "was mapped to items/tally, version 1, and does not fit app_test.Tally: amount: must be"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := app.Open(t.Context(), m.Share(), quiet(), newer(test.maps))
			var stuck *app.StuckError
			if !errors.As(err, &stuck) || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got error %v, want %q in it", err, test.says)
			}
			for _, way := range []string{"hello log show ", "hello log skip ", "hello log map "} {
				if !strings.Contains(err.Error(), way) {
					t.Errorf("got %v, want %q in it", err, way)
				}
			}
		})
	}
}

// A process of an older build refuses commands and answers queries as of the last event that it can
// read, until the event of the newer build is amended.
func TestOlderBuildBesideNewer(t *testing.T) {
	m := eventlog.NewMemory()
	old, fresh := open(t, m.Share()), open(t, m.Share(), newer(mapAll))
	execute(t, old, Count{1})
	execute(t, fresh, Tally{10})
	for range 3 {
		if _, err := app.DoRaw(t.Context(), old, Count{1}); err == nil || !strings.Contains(err.Error(), "the event log is newer than this process; restart it with the newer build\nevent 2 of the log (items/tally") {
			t.Errorf("a command, want %q in it: %v", "the event log is newer than this process; restart it with the newer build\nevent 2 of the log (items/tally", err)
		}
		if n := total(t, old); n != 1 {
			t.Errorf("a query: the total is %d, want 1", n)
		}
	}
	execute(t, fresh, Tally{100})
	if n := last(t, m); n != 3 {
		t.Errorf("the log has %d events, want 3", n)
	}
	for _, am := range []app.Amendment{
		{Seq: 2, Type: "items/count", Data: json.RawMessage(`{"by":10}`), Reason: "the same"},
		{Seq: 3, Skip: true, Reason: "never mind"},
	} {
		if err := amend(t.Context(), m.Share(), am); err != nil {
			t.Fatal(err)
		}
	}
	if n := total(t, old); n != 11 {
		t.Errorf("the old build has the total %d, want 11", n)
	}
	if n := total(t, fresh); n != 11 {
		t.Errorf("the new build, which had applied event 3, has the total %d, want 11", n)
	}
	execute(t, old, Count{1000})
	if n := total(t, fresh); n != 1011 {
		t.Errorf("then the total is %d, want 1011", n)
	}
	am, err := app.NewAdmin(m, app.Options{}).FindAmendment(t.Context(), 3)
	if err != nil || am == nil || am.Reason != "never mind" || am.Time.IsZero() {
		t.Errorf(`%+v, %v, want am not nil, Reason "never mind"`, am, err)
	}
	for _, am := range []app.Amendment{{Seq: 99, Skip: true, Reason: "x"}, {Seq: 1, Skip: true}, {Skip: true, Reason: "x"}} {
		if err := amend(t.Context(), m.Share(), am); err == nil {
			t.Errorf("%+v was recorded, want an error", am)
		}
	}
}

// Open fails at an event that panics during replay, until the event is skipped.
func TestPanicAtReplay(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	execute(t, a, Count{1})
	execute(t, a, Break{"later"})
	changed := items()
	changed.Map = func(r eventlog.Record) (eventlog.Payload, error) {
		return eventlog.Payload{Type: "items/break", Version: 1, Data: []byte(`{"how":"apply"}`)}, nil
	}
	changed.Commands = append(changed.Commands[:2:2], app.CommandTypeOf[Break]("break", 2))
	changed.Map = func(r eventlog.Record) (eventlog.Payload, error) {
		return eventlog.Payload{Type: "items/break", Version: 2, Data: []byte(`{"how":"apply"}`)}, nil
	}
	_, err := app.Open(t.Context(), m.Share(), quiet(), changed)
	if err == nil || !strings.Contains(err.Error(), "panic: in apply (fixture_test.go:") {
		t.Fatalf("got error %v, want \"panic: in apply (fixture_test.go:\" in it", err)
	}
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Skip: true, Reason: "it was a mistake"}); err != nil {
		t.Fatal(err)
	}
	if n := total(t, open(t, m.Share(), changed)); n != 1 {
		t.Errorf("the total is %d, want 1", n)
	}
	if n := total(t, a); n != 1 {
		t.Errorf("in the process that had applied it, the total is %d, want 1", n)
	}
}

// A log with a gap is an error.
func TestGap(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m), Count{1})
	_, err := app.Open(t.Context(), gap{m.Share()}, quiet(), items())
	if err == nil || !strings.Contains(err.Error(), "the log is damaged") {
		t.Errorf("got error %v, want \"the log is damaged\" in it", err)
	}
}

type gap struct{ *eventlog.Memory }

func (g gap) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range g.Memory.Records(ctx, after) {
			r.Seq++
			if !yield(r, err) {
				return
			}
		}
	}
}

// Replay can be cancelled, has no time limit, and reports progress.
func TestReplayIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		a := open(t, m)
		for range 1000 {
			execute(t, a, Count{1})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := app.Open(ctx, m.Share(), quiet(), items()); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want context.Canceled", err)
		}
		o := quiet()
		var told []int64
		o.Progress = func(done int64) { told = append(told, done) }
		slow := items()
		slow.Commands[1] = app.CommandTypeOf[slowCount]("count", 1)
		if _, err := app.Open(t.Context(), m.Share(), o, slow); err != nil {
			t.Fatal(err)
		}
		if len(told) == 0 || told[0] < 1 || told[0] >= 1000 {
			t.Errorf("the progress was %v, want it to start from 1 to 999", told)
		}
	})
}

type slowCount struct {
	By int `json:"by"`
}

func (c slowCount) Check(context.Context, *State) error { return nil }
func (c slowCount) Apply(*State, app.Event) int {
	time.Sleep(1500 * time.Microsecond)
	return 0
}

func TestFeaturesAreChecked(t *testing.T) {
	other := items()
	other.Name = "other"
	none := items()
	none.Name = ""
	twice := items()
	twice.Commands = append(twice.Commands, app.CommandTypeOf[Tally]("add", 1))
	zero := items()
	zero.Commands[0] = app.CommandTypeOf[Add]("add", 0)
	follows := items()
	follows.Workers = []app.Worker{app.WorkerOf("w", func(context.Context) (*odd, error) { return &odd{}, nil },
		app.On(func(*odd, context.Context, Tally, app.Event) error { return nil }))}
	same, idle := mailing(&outside{}), items()
	same.Workers = append(same.Workers, same.Workers[0])
	idle.Workers = []app.Worker{app.WorkerOf("w", func(context.Context) (*odd, error) { return &odd{}, nil },
		app.Every(0, func(*odd, context.Context) error { return nil }))}
	for name, features := range map[string][]app.Feature{
		"the state of another": {items(), other},
		"a worker twice":       {same},
		"works all the time":   {idle},
		"no name":              {none},
		"a command twice":      {twice},
		"version 0":            {zero},
		"follows no command":   {follows},
	} {
		if _, err := app.Open(t.Context(), eventlog.NewMemory(), quiet(), features...); err == nil {
			t.Errorf("%s: there is no error, want an error", name)
		}
		partial := quiet()
		partial.Partial = true // allows only unknown commands
		_, err := app.Open(t.Context(), eventlog.NewMemory(), partial, features...)
		if allowed := name == "follows no command"; (err == nil) != allowed {
			t.Errorf("%s, partial: error %v, want success: %t", name, err, allowed)
		}
	}
}
