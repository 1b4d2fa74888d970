package apptest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
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
		err := s.Write(t.Context(), func(tx app.Tx) error {
			for range n {
				last++
				r := app.Record{Event: app.Event{Seq: last, ID: fmt.Sprint("id", last)}, Type: eventType, Version: 1, Data: json.RawMessage(`{"name":"a","by":1}`)}
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
		err := s.View(t.Context(), func(v app.View) error {
			types, err := app.StoredTypes(v.(app.TypeView))
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
