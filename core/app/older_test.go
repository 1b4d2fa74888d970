package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Sum is Count at version 3: its amount has a unit.
type Sum struct {
	Amount Amount `json:"amount"`
}

// Amount is a number of something.
type Amount struct {
	N    int    `json:"n"`
	Unit string `json:"unit"`
}

func (c Sum) Check(context.Context, *State) error { return nil }
func (c Sum) Apply(s *State, _ app.Event) int     { s.Total += c.Amount.N; return s.Total }

// SumV1 has the fields of Count, and SumV2 those of Tally.
type SumV1 struct {
	By int `json:"by"`
}

func (old SumV1) Upgrade() SumV2 {
	if old.By == 13 {
		panic("unlucky")
	}
	return SumV2{Amount: old.By}
}

type SumV2 struct {
	Amount int `json:"amount"`
}

func (old SumV2) Upgrade() Sum { return Sum{Amount{old.Amount, "piece"}} }

func summing(older ...app.Older) app.Feature {
	f := items()
	f.Commands[1] = app.CommandTypeOf[Sum]("count", 3, older...)
	return f
}

// record appends an event that no command of this build writes.
func record(t *testing.T, m *eventlog.Memory, kind string, version int, data string) {
	t.Helper()
	s := m.Share()
	err := s.Write(t.Context(), func(tx eventlog.Tx) error {
		seq := last(t, s) + 1
		return tx.Append(eventlog.Record{Seq: seq, ID: "id" + string(rune('a'+seq)), Type: kind, Version: version, Data: json.RawMessage(data)})
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Events of older versions are read as their own type and upgraded step by step.
func TestOlder(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m), Count{3})
	record(t, m, "items/count", 2, `{"amount":20}`)
	a := open(t, m.Share(), summing(app.OlderOf[SumV2](2), app.OlderOf[SumV1](1)))
	execute(t, a, Sum{Amount{100, "piece"}})
	if n := total(t, a); n != 123 {
		t.Errorf("the total is %d, want 123", n)
	}
	for _, test := range []struct {
		name, data string
		version    int
		says       string
	}{
		{"older version that does not fit", `{"amount":1}`, 1, "does not fit app_test.SumV1: field \"amount\" is unknown, \"by\" is missing\nif app_test.SumV1 changed: "},
		{"panic in Upgrade", `{"by":13}`, 1, "cannot be applied: panic: unlucky (older_test.go:"},
		{"newer version", `{}`, 4, "is newer than this build, which knows items/count up to version 3"},
		{"nested", `{"amount":{"n":1,"unti":"x"}}`, 3, "does not fit app_test.Sum: amount: field \"unti\" is unknown, \"unit\" is missing\nif the command changed:  petrock generate version items/count\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			record(t, m, "items/count", test.version, test.data)
			_, err := app.Open(t.Context(), m, quiet(), summing(app.OlderOf[SumV1](1), app.OlderOf[SumV2](2)))
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want %q in it", err, test.says)
			}
		})
	}
}

// Map gets the events that no Older reads, and may return a payload that one reads.
func TestMapToOlder(t *testing.T) {
	m := eventlog.NewMemory()
	record(t, m, "items/bump", 1, `{"by":5}`)
	execute(t, open(t, m.Share(), mappingBump(items())), Count{1})
	f := mappingBump(summing(app.OlderOf[SumV1](1), app.OlderOf[SumV2](2)))
	if n := total(t, open(t, m.Share(), f)); n != 6 {
		t.Errorf("the total is %d, want 6", n)
	}
}

// A function of a type may return an older version too.
func TestMapOfOlder(t *testing.T) {
	m := eventlog.NewMemory()
	record(t, m, "items/bump", 1, `{"by":5}`)
	f := summing(app.OlderOf[SumV1](1), app.OlderOf[SumV2](2))
	f.Maps = []app.Mapping{app.MapOf("items/bump", func(old eventlog.Record) (old1 SumV1, err error) { return old1, old.Decode(&old1) })}
	if n := total(t, open(t, m.Share(), f)); n != 5 {
		t.Errorf("the total is %d, want 5", n)
	}
}

func mappingBump(f app.Feature) app.Feature {
	f.Map = func(r eventlog.Record) (eventlog.Payload, error) {
		if r.Type == "items/bump" {
			r.Type = "items/count"
		}
		return r.Payload(), nil
	}
	return f
}

// looping upgrades to itself.
type looping struct {
	By int `json:"by"`
}

func (old looping) Upgrade() looping { return old }

func TestOlderIsChecked(t *testing.T) {
	for _, test := range []struct {
		name  string
		older []app.Older
		says  string
	}{
		{"leads nowhere", []app.Older{app.OlderOf[SumV1](1)}, "version 1 does not lead to app_test.Sum: Upgrade of app_test.SumV1 returns app_test.SumV2"},
		{"leads back", []app.Older{app.OlderOf[SumV1](2), app.OlderOf[SumV2](1)}, "version 2 does not lead to app_test.Sum"},
		{"a circle", []app.Older{app.OlderOf[looping](1)}, "version 1 does not lead to app_test.Sum"},
		{"twice", []app.Older{app.OlderOf[SumV2](2), app.OlderOf[SumV2](2)}, "version 2 twice"},
		{"not older", []app.Older{app.OlderOf[SumV2](3)}, "app_test.SumV2 is for version 3; older versions are from 1 to 2"},
		{"version 0", []app.Older{app.OlderOf[SumV2](0)}, "app_test.SumV2 is for version 0"},
	} {
		_, err := app.Open(t.Context(), eventlog.NewMemory(), quiet(), summing(test.older...))
		if err == nil || !strings.Contains(err.Error(), "command count") || !strings.Contains(err.Error(), test.says) {
			t.Errorf(`%s: got %v, want an error with "command count" and %q in it`, test.name, err, test.says)
		}
	}
}

// If the fields of an event are not those of its command, Open fails: they are never read as zero
// values.
func TestStrictReplay(t *testing.T) {
	for _, test := range []struct {
		name, data, says string
	}{
		{"renamed", `{"amount":1}`, "event 1 of the log (items/count, version 1, 0001-01-01 00:00:00) does not fit app_test.Count: field \"amount\" is unknown, \"by\" is missing\n" +
			"if the command changed:  petrock generate version items/count --rename amount=by\n" +
			"show it:   hello log show 1\n" +
			"remap it:  hello log map 1 --type TYPE --input JSON --reason WHY\n" +
			"skip it:   hello log skip 1 --reason WHY"},
		{"removed", `{"by":1,"unit":"x"}`, "does not fit app_test.Count: field \"unit\" is unknown\nif the command changed:  petrock generate version items/count\n"},
		{"added", `{}`, "does not fit app_test.Count: field \"by\" is missing\n"},
		{"another type", `{"by":"1"}`, "does not fit app_test.Count: by: must be an integer, got a string\n"},
		{"null", `{"by":null}`, "does not fit app_test.Count: by: must be an integer, got null\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			record(t, m, "items/count", 1, test.data)
			_, err := app.Open(t.Context(), m, quiet(), items())
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got error %v, want %q in it", err, test.says)
			}
		})
	}
}
