package apptest_test

import (
	"context"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A read-only app follows the events of another process and writes nothing: the stamp of the other
// one's store, which changes with every commit of another store, stays the same.
func TestReadOnly(t *testing.T) {
	onEachStore(t, func(t *testing.T, path string) {
		open := func(o app.Options) (eventlog.Store, *app.App) {
			t.Helper()
			store, err := openStore(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { store.Close() })
			a, err := app.Open(t.Context(), store, o, tally())
			if err != nil {
				t.Fatal(err)
			}
			return store, a
		}
		store, writer := open(app.Options{})
		if _, err := app.DoRaw(t.Context(), writer, Note{Name: "one"}); err != nil {
			t.Fatal(err)
		}
		before, err := store.Stamp(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, reader := open(app.Options{ReadOnly: "maintenance"})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { reader.Run(ctx); close(ended) }()
		if _, err := app.DoRaw(t.Context(), writer, Note{Name: "two"}); err != nil {
			t.Fatal(err)
		}
		if n, err := app.Query(app.With(t.Context(), reader), Count{}); err != nil || n != 2 {
			t.Errorf("the reader has %d notes, %v; want 2 and no error", n, err)
		}
		if _, err := app.DoRaw(t.Context(), reader, Note{Name: "three"}); err == nil || !strings.Contains(err.Error(), "read-only: maintenance") {
			t.Errorf("a command: %v, want \"read-only: maintenance\" in it", err)
		}
		stop()
		<-ended
		if after, err := store.Stamp(t.Context()); err != nil || after != before {
			t.Errorf("the stamp is %d, %v; want %d as before, and no error", after, err, before)
		}
	})
}
