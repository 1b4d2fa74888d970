package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A Counted is Count after it was retired: it has other fields, and no Check.
type Counted struct {
	Amount int `json:"amount"`
}

func (c Counted) Apply(s *State, _ app.Event) int { s.Total += c.Amount; return s.Total }

// CountedV1 has the fields of Count.
type CountedV1 struct {
	By int `json:"by"`
}

func (old CountedV1) Upgrade() Counted { return Counted{old.By} }

// An echo is a worker that follows a retired command, and tries to execute it.
type echo struct {
	Seen int `json:"seen"`
}

func (w *echo) onCount(ctx context.Context, c Count, _ app.Event) error {
	w.Seen += c.By
	_, err := app.Do(ctx, c)
	if err == nil || err.Error() != "execute items/count: the command is retired" {
		return fmt.Errorf("executed a retired command: %w", err)
	}
	return nil
}

// with returns the feature items with other commands.
func with(commands ...app.CommandType) app.Feature {
	f := items()
	f.Commands = commands
	return f
}

// counted returns a log with items/count events.
func counted(t *testing.T, amounts ...int) *eventlog.Memory {
	t.Helper()
	m := eventlog.NewMemory()
	a := open(t, m)
	for _, amount := range amounts {
		execute(t, a, Count{amount})
	}
	return m
}

// A retired command is replayed in all versions, and cannot be executed, with or without Check.
func TestRetired(t *testing.T) {
	m := counted(t, 1, 2, 4)
	for _, retired := range []app.CommandType{
		app.RetiredTypeOf[Count]("count", 1),
		app.RetiredTypeOf[Counted]("count", 2, app.OlderOf[CountedV1](1)),
	} {
		a := open(t, m.Share(), with(app.CommandTypeOf[Add]("add", 1), retired))
		if total, err := app.QueryRaw(t.Context(), a, Total{}); err != nil || string(total) != "7" {
			t.Errorf("got total %s, want 7: %v", total, err)
		}
		execute(t, a, Add{Name: fmt.Sprint("after ", retired)})
	}
	a := open(t, m.Share(), with(app.CommandTypeOf[Add]("add", 1), app.RetiredTypeOf[Count]("count", 1)))
	const want = "execute items/count: the command is retired"
	if _, err := app.DoRaw(t.Context(), a, Count{1}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if _, err := app.Do(app.WithKey(app.With(t.Context(), a), "key"), Count{1}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
	if last, err := m.Last(t.Context()); err != nil || last != 5 {
		t.Errorf("the log ends at event %d, want 5: %v", last, err)
	}
}

// A worker gets the events of a retired command.
func TestRetiredFollowed(t *testing.T) {
	m := counted(t, 1, 2, 4)
	f := with(app.RetiredTypeOf[Count]("count", 1))
	w := &echo{}
	f.Workers = []app.Worker{app.WorkerOf("echo", func(context.Context) (*echo, error) { return w, nil }, app.On((*echo).onCount), app.FromStart[echo]())}
	a := open(t, m.Share(), f)
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := app.NewAdmin(m.Share(), app.Options{}).Workers(t.Context())
	if err != nil || len(all) != 1 || all[0].Position != 3 || len(all[0].Aside) > 0 || w.Seen != 7 {
		t.Errorf("the workers are %+v, %v, and one has seen %d events; want one at position 3 with nothing set aside, and 7", all, err, w.Seen)
	}
	if all, err := a.Workers(t.Context()); err != nil || len(all) != 1 {
		t.Errorf("the workers of the app are %+v, %v; want one", all, err)
	}
	f.Workers = nil
	if all, err := open(t, m.Share(), f).Workers(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("the workers of an app without workers are %+v, %v; want none", all, err)
	}
}

// poked returns a log with events of a feature that no longer exists.
func poked(t *testing.T) *eventlog.Memory {
	t.Helper()
	m := counted(t, 1)
	err := m.Write(t.Context(), func(tx eventlog.Tx) error {
		for i, text := range []string{`{"times":2}`, `{"times":30}`, `{"times":4}`} {
			r := eventlog.Record{Seq: int64(i) + 2, ID: fmt.Sprint("poke", i), Actor: "ada", Type: "scratch/poke", Version: i + 1, Data: json.RawMessage(text)}
			if err := tx.Append(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mapPoke reads a poke as a count, and drops event 3.
func mapPoke(old eventlog.Record) (Count, error) {
	var poke struct {
		Times int `json:"times"`
	}
	switch err := old.Decode(&poke); {
	case err != nil:
		return Count{}, err
	case old.Seq == 3:
		return Count{}, app.ErrDrop
	case old.ID != fmt.Sprint("poke", old.Seq-2) || old.Actor != "ada" || old.Version != int(old.Seq)-1:
		return Count{}, fmt.Errorf("got event %+v", old)
	}
	return Count{poke.Times}, nil
}

// Events of a removed command are read by a map function, or skipped, or stop the start.
func TestRemoved(t *testing.T) {
	refuse := func(eventlog.Record) (Count, error) { return Count{}, errors.New("what is this?") }
	strict := func(old eventlog.Record) (Count, error) {
		var nothing struct{}
		return Count{}, old.Decode(&nothing)
	}
	toPoke := func(old eventlog.Record) (eventlog.Payload, error) {
		if old.Type == "scratch/poke" && old.Version == 2 {
			return eventlog.Payload{Type: "items/count", Version: 1, Data: json.RawMessage(`{"by":100}`)}, nil
		}
		return old.Payload(), nil
	}
	for _, test := range []struct {
		name string
		maps []app.Mapping
		all  func(eventlog.Record) (eventlog.Payload, error)
		skip []string
		want string // the total, or a part of the error
	}{
		{"nothing", nil, nil, nil, "event 2 of the log (scratch/poke, version 1, 0001-01-01 00:00:00) has no command: scratch/poke was removed or renamed"},
		{"remedies", nil, nil, nil, "//petrock:retired into its doc comment\nmap the type:   write a function with //petrock:map scratch/poke,"},
		{"map", []app.Mapping{app.MapOf("scratch/poke", mapPoke)}, nil, nil, "7"},
		{"map before Map and skip", []app.Mapping{app.MapOf("scratch/poke", mapPoke)}, toPoke, []string{"scratch/poke"}, "7"},
		{"skip", nil, nil, []string{"other/type", "scratch/poke"}, "1"},
		{"Map before skip", nil, toPoke, []string{"scratch/poke"}, "101"},
		{"skip of another type", nil, nil, []string{"scratch"}, "has no command"},
		{"skip of a command", nil, nil, []string{"items/count", "scratch/poke"}, "1"},
		{"map that fails", []app.Mapping{app.MapOf("scratch/poke", refuse)}, nil, nil, "is refused by its map function: what is this?"},
		{"strict map", []app.Mapping{app.MapOf("scratch/poke", strict)}, nil, nil, `is refused by its map function: field "times" is unknown`},
		{"map that panics", []app.Mapping{app.MapOf("scratch/poke", func(eventlog.Record) (Count, error) { panic("oh") })}, nil, nil, "panic: oh (removed_test.go:"},
		{"map of a command", []app.Mapping{app.MapOf("items/add", mapPoke)}, nil, nil, "feature items: map of items/add: it is a command, and only events of removed commands are mapped"},
		{"two maps", []app.Mapping{app.MapOf("a/b", mapPoke), app.MapOf("a/b", mapPoke)}, nil, nil, "feature items: map of a/b: feature items maps it too; remove one"},
		{"map to another type", []app.Mapping{app.MapOf("a/b", func(eventlog.Record) (State, error) { return State{}, nil })}, nil, nil, "feature items: map of a/b returns app_test.State, which is not a command of the feature, nor an older version of one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, o := items(), quiet()
			f.Maps, f.Map, o.Skip = test.maps, test.all, test.skip
			a, err := app.Open(t.Context(), poked(t), o, f)
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("got error %v, want %s", err, test.want)
				}
				return
			}
			if total, err := app.QueryRaw(t.Context(), a, Total{}); err != nil || string(total) != test.want {
				t.Errorf("got total %s, want %s: %v", total, test.want, err)
			}
		})
	}
}

// A type is not skipped in a version that its command cannot read.
func TestSkipOfVersion(t *testing.T) {
	o := quiet()
	o.Skip = []string{"items/count"}
	f := with(app.CommandTypeOf[Add]("add", 1), app.RetiredTypeOf[Counted]("count", 2))
	if _, err := app.Open(t.Context(), counted(t, 1), o, f); err == nil || !strings.Contains(err.Error(), "no type reads version 1") {
		t.Errorf("got error %v, want \"no type reads version 1\" in it", err)
	}
}
