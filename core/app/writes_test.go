package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// CountIn is Count at version 2: it has a unit, and negative numbers are refused.
type CountIn struct {
	By   int    `json:"by"`
	Unit string `json:"unit"`
}

func (c CountIn) Check(_ context.Context, s *State) error {
	if c.Unit == "" || c.By < 0 {
		return app.ErrDrop
	}
	return nil
}

func (c CountIn) Apply(s *State, e app.Event) int {
	s.Total += c.By
	s.Order = append(s.Order, c.Unit)
	return s.Total
}

func (c CountIn) Downgrade() CountInV1 { return CountInV1{c.By} }

type CountInV1 struct {
	By int `json:"by"`
}

func (old CountInV1) Upgrade() CountIn {
	if old.By == 13 {
		panic("unlucky")
	}
	return CountIn{old.By, "piece"}
}

// reads returns the feature of a build that reads version 2 and writes another one.
func reads(writes int, older app.Older) app.Feature {
	f := items()
	f.Commands[1] = app.CommandTypeOf[CountIn]("count", 2, older).Writes(writes)
	return f
}

func lastRecord(t *testing.T, m *eventlog.Memory) eventlog.Record {
	t.Helper()
	r, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), last(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A new field is deployed in two steps: first a build that reads the new version and writes the old
// one, then a build that writes the new one. No server of an earlier step becomes stale.
func TestDeployANewField(t *testing.T) {
	m := eventlog.NewMemory()
	older := app.OlderOf[CountInV1](1, CountIn.Downgrade)
	first, second := open(t, m.Share()), open(t, m.Share(), reads(1, older))
	execute(t, first, Count{1})
	if result, err := app.DoOlderRaw(app.WithKey(t.Context(), "k"), second, CountInV1{10}); err != nil || string(result) != "11" {
		t.Fatalf("got %s, %v, want \"11\"", result, err)
	}
	if r := lastRecord(t, m); r.Version != 1 || string(r.Data) != `{"by":10}` {
		t.Errorf("stored %+v, want Version 1, Data %q", r, `{"by":10}`)
	}
	execute(t, first, Count{100})
	if n := total(t, second); n != 111 {
		t.Errorf("the total is %d, want 111", n)
	}
	if _, err := app.DoOlderRaw(t.Context(), second, CountInV1{-1}); err == nil || !strings.Contains(err.Error(), "dropped") {
		t.Errorf("Check of the new version returns %v, want \"dropped\" in it", err)
	}
	if _, err := app.DoOlderRaw(t.Context(), second, CountInV1{13}); err == nil || !strings.Contains(err.Error(), "unlucky") {
		t.Errorf("a panic in Upgrade returns %v, want \"unlucky\" in it", err)
	}

	third := open(t, m.Share(), reads(2, older))
	if _, err := app.DoOlderRaw(t.Context(), third, CountInV1{1}); err == nil || !strings.Contains(err.Error(), "not a command of any feature") {
		t.Errorf("a version that is no longer written returns %v, want \"not a command of any feature\" in it", err)
	}
	if result, err := app.DoRaw(app.WithKey(t.Context(), "k"), third, CountIn{10, "piece"}); err != nil || string(result) != "11" {
		t.Errorf("the repeated command of the second build returns %s, %v, want \"11\"", result, err)
	}
	execute(t, third, CountIn{1000, "kg"})
	if r := lastRecord(t, m); r.Version != 2 || string(r.Data) != `{"by":1000,"unit":"kg"}` {
		t.Errorf("stored %+v, want Version 2, Data %q", r, `{"by":1000,"unit":"kg"}`)
	}
	if n := total(t, second); n != 1111 {
		t.Errorf("the total is %d, want 1111", n)
	}
	if a, b := dump(t, second), dump(t, open(t, m.Share(), reads(1, older))); a != b || !strings.Contains(a, `["piece","piece","piece","kg"]`) {
		t.Errorf("the state is %s, after replay %s; want both equal, with %q in it", a, b, `["piece","piece","piece","kg"]`)
	}
}

// Go code executes the current type, which is stored as its Downgrade, if that loses nothing.
func TestWritesDowngrade(t *testing.T) {
	for _, test := range []struct {
		name   string
		older  app.Older
		c      CountIn
		stored string
		says   string
	}{
		{"new field unset", app.OlderOf[CountInV1](1, CountIn.Downgrade), CountIn{By: 2}, `{"by":2}`, ""},
		{"new field as in Upgrade", app.OlderOf[CountInV1](1, CountIn.Downgrade), CountIn{2, "piece"}, `{"by":2}`, ""},
		{"new field set", app.OlderOf[CountInV1](1, CountIn.Downgrade), CountIn{2, "kg"}, "", "execute items/count: this build writes version 1 (//petrock:writes), which cannot hold the field Unit; leave it unset"},
		{"no Downgrade", app.OlderOf[CountInV1](1), CountIn{By: 2}, "", "this build writes version 1 (//petrock:writes): app_test.CountIn has no method Downgrade"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			a := open(t, m.Share(), reads(1, test.older))
			_, err := app.DoRaw(t.Context(), a, test.c)
			switch {
			case test.says != "":
				if err == nil || !strings.Contains(err.Error(), test.says) || last(t, m) != 0 {
					t.Errorf("got error %v, and the log has %d events; want %s, and none", err, last(t, m), test.says)
				}
			case err != nil:
				t.Error(err)
			default:
				if r := lastRecord(t, m); r.Version != 1 || string(r.Data) != test.stored {
					t.Errorf("stored %+v, want Version 1, Data %v", r, test.stored)
				}
			}
		})
	}
	if _, err := app.Open(t.Context(), eventlog.NewMemory(), quiet(), reads(3, app.OlderOf[CountInV1](1))); err == nil || !strings.Contains(err.Error(), "command count writes version 3, and no OlderOf reads it") {
		t.Errorf("a version that does not exist, want %q in it: %v", "command count writes version 3, and no OlderOf reads it", err)
	}
}

// A command that another build stored in another version has the same idempotency key only if it is
// the same command.
func TestRepeatedInAnotherVersion(t *testing.T) {
	m := eventlog.NewMemory()
	older := app.OlderOf[CountInV1](1, CountIn.Downgrade)
	first, second := open(t, m.Share(), reads(1, older)), open(t, m.Share(), reads(2, older))
	with := app.WithKey(t.Context(), "k")
	if _, err := app.DoRaw(with, second, CountIn{1, "piece"}); err != nil {
		t.Fatal(err)
	}
	for by, repeated := range map[int]bool{1: true, 2: false} {
		result, err := app.DoOlderRaw(with, first, CountInV1{by})
		if repeated != (err == nil && string(result) == "1") {
			t.Errorf("%d: got %s, %v; want the result 1 and no error: %t", by, result, err, repeated)
		}
	}
	if last(t, m) != 1 {
		t.Errorf("the log has %d events, want 1", last(t, m))
	}
}
