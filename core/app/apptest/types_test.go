package apptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/sqlite"
)

// A running server summarizes the types of many events, so that later ones are all that is left to
// count. Erasing an event removes the summary, in which the event is counted.
func TestTypeSummary(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	last := int64(0)
	add := func(eventType string, n int) {
		t.Helper()
		err := s.Write(t.Context(), func(tx eventlog.Tx) error {
			for range n {
				last++
				r := eventlog.Record{Seq: last, ID: fmt.Sprint("id", last), Type: eventType, Version: 1, Data: json.RawMessage(`{"name":"a","by":1}`)}
				if err := tx.Append(r); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	expect := func(want string) {
		t.Helper()
		err := s.View(t.Context(), func(v eventlog.View) error {
			types, err := app.StoredTypes(v.(eventlog.TypeView))
			if got := fmt.Sprint(types); got != want {
				t.Errorf("got types %s, want %s", got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	hasSummary := func() bool {
		t.Helper()
		summary, err := s.Get(t.Context(), "snapshot/app/types")
		if err != nil {
			t.Fatal(err)
		}
		return summary != nil
	}
	summarize := func() {
		t.Helper()
		a, err := app.Open(t.Context(), s, app.Options{Logger: slog.New(slog.DiscardHandler), Skip: []string{"tally/gone"}}, tally())
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			a.Run(ctx)
			close(ended)
		}()
		for start := time.Now(); !hasSummary() && time.Since(start) < 30*time.Second; {
			time.Sleep(time.Millisecond)
		}
		stop()
		<-ended
		if !hasSummary() {
			t.Fatal("got no summary, want one")
		}
	}
	add("tally/gone", 2)
	add("tally/note", 10_000)
	expect("[{tally/gone 1 2 1 2} {tally/note 1 10000 3 10002}]")
	summarize()
	expect("[{tally/gone 1 2 1 2} {tally/note 1 10000 3 10002}]")
	add("tally/note", 1)
	add("tally/new", 1)
	expect("[{tally/gone 1 2 1 2} {tally/new 1 1 10004 10004} {tally/note 1 10001 3 10003}]")
	if _, err := app.NewAdmin(s, app.Options{}).Erase(t.Context(), app.Erasure{First: 1, Last: 1, Reason: "a request"}); err != nil {
		t.Fatal(err)
	}
	last++ // the amendment
	if hasSummary() {
		t.Error("the summary counts an erased event, want no summary")
	}
	expect("[{tally/gone 1 1 2 2} {tally/new 1 1 10004 10004} {tally/note 1 10001 3 10003}]")
}

// openTyped returns a log with an event for each type and version, such as "a/x 1".
func openTyped(t *testing.T, all ...string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "log.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	err = s.Write(t.Context(), func(tx eventlog.Tx) error {
		for i, text := range all {
			r := eventlog.Record{Seq: int64(i) + 1, ID: fmt.Sprint("id", i+1), Data: []byte(`{}`)}
			if _, err := fmt.Sscan(text, &r.Type, &r.Version); err != nil {
				return err
			}
			if err := tx.Append(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// amend amends events of a log.
func amend(t *testing.T, s eventlog.Store, all ...app.Amendment) {
	t.Helper()
	for _, am := range all {
		if _, err := app.NewAdmin(s, app.Options{}).Amend(t.Context(), am.Edit()); err != nil {
			t.Fatal(err)
		}
	}
}

// StoredTypes counts events as they are read: by their amendments, without skipped and erased ones.
func TestStoredTypes(t *testing.T) {
	s := openTyped(t, "a/x 1", "a/x 2", "b/y 1", "a/x 1", "a/x 1", "b/z 1", "a/X 1", "a/x 10")
	expect := func(want string) {
		t.Helper()
		err := s.View(t.Context(), func(v eventlog.View) error {
			types, err := app.StoredTypes(v.(eventlog.TypeView))
			if got := fmt.Sprint(types); got != want {
				t.Errorf("StoredTypes() = %s, want %s", got, want)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	expect("[{a/X 1 1 7 7} {a/x 1 3 1 5} {a/x 2 1 2 2} {a/x 10 1 8 8} {b/y 1 1 3 3} {b/z 1 1 6 6}]")
	amend(t, s,
		app.Amendment{Seq: 1, Skip: true, Reason: "skipped"},
		app.Amendment{Seq: 3, Type: "a/x", Version: 2, Reason: "renamed"},
		app.Amendment{Seq: 7, Type: "c/new", Reason: "renamed"},
		app.Amendment{Seq: 8, Type: "a/x", Version: 10, Reason: "restored"},
	)
	if _, err := app.NewAdmin(s, app.Options{}).Erase(t.Context(), app.Erasure{First: 6, Last: 6, Reason: "a request"}); err != nil {
		t.Fatal(err)
	}
	expect("[{a/x 1 2 4 5} {a/x 2 2 2 3} {a/x 10 1 8 8} {c/new 1 1 7 7}]")
}

// A sample has the first and last event, and others at equal distances, as they are read.
func TestSample(t *testing.T) {
	all := make([]string, 1000)
	for i := range all {
		all[i] = "a/rare 1"
		if i < 40 || i == 900 { // events 1 to 40, and 901
			all[i] = "a/old 1"
		}
	}
	s := openTyped(t, all...)
	amend(t, s, app.Amendment{Seq: 700, Type: "a/old", Version: 1, Data: []byte(`{"n":0}`), Reason: "renamed"})
	for _, test := range []struct {
		eventType string
		limit     int
		count     int
		has       []int64
	}{
		{"a/old", 100, 42, []int64{1, 2, 39, 40, 700, 901}},
		{"a/old", 20, 20, []int64{1, 901}},
		{"a/old", 5, 5, []int64{1, 11, 21, 31, 901}},
		{"a/rare", 50, 50, []int64{41, 1000}},
		{"a/old", 2, 2, []int64{1, 901}},
		{"a/old", 1, 1, []int64{1}},
		{"a/none", 10, 0, nil},
	} {
		err := s.View(t.Context(), func(v eventlog.View) error {
			var got []int64
			for r, err := range app.Sample(v.(eventlog.TypeView), test.eventType, 1, test.limit) {
				if err != nil {
					return err
				}
				want := `{}`
				if r.Seq == 700 {
					want = `{"n":0}`
				}
				if r.Type != test.eventType || string(r.Data) != want {
					t.Errorf("Sample(%s) yields %s %s, want data %s", test.eventType, r.Type, r.Data, want)
				}
				got = append(got, r.Seq)
			}
			isMissing := func(seq int64) bool { return !slices.Contains(got, seq) }
			if len(got) != test.count || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) || slices.ContainsFunc(test.has, isMissing) {
				t.Errorf("Sample(%s, limit %d) = %v, want %d events with %v", test.eventType, test.limit, got, test.count, test.has)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
