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

// later is the feature items with a new worker that follows later events.
func later(name string, world *outside) app.Feature {
	f := items()
	f.Workers = []app.Worker{app.WorkerOf(name, func(context.Context) (*Mailer, error) { return &Mailer{world: world}, nil }, app.On((*Mailer).OnAdd))}
	return f
}

// A new worker ignores events from before it existed, and misses none that came after, even if its
// first process dies before it runs the worker.
func TestNewWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		execute(t, open(t, m.Share()), Add{Name: "old"})
		dying := open(t, m.Share(), later("first", world)) // it never runs
		execute(t, dying, Add{Name: "new"})
		p := start(t, m, later("first", world))
		time.Sleep(time.Second)
		p.end()
		if got := world.list(); got != "new" {
			t.Errorf("sent %q, want \"new\"", got)
		}
		p = start(t, m, later("renamed", world))
		execute(t, p.App, Add{Name: "newer"})
		time.Sleep(time.Second)
		p.end()
		if got := world.list(); got != "new newer" {
			t.Errorf("under another name it has sent %q, want \"new newer\"", got)
		}
	})
}

// With NoWorkers, no worker starts.
func TestIdle(t *testing.T) {
	m := eventlog.NewMemory()
	o := quiet()
	o.NoWorkers = true
	if _, err := app.Open(t.Context(), m, o, later("first", &outside{})); err != nil {
		t.Fatal(err)
	}
	if names, err := m.Names(t.Context(), ""); err != nil || len(names) > 0 {
		t.Errorf("%v, %v, want none", names, err)
	}
}

// A read-only app answers queries and follows the log. It refuses commands, and writes nothing.
func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		writer := open(t, m.Share())
		execute(t, writer, Count{2})
		o := quiet()
		o.ReadOnly = "the disk is on fire"
		reader, err := app.Open(t.Context(), unwritable{m.Share()}, o, later("first", world))
		if err != nil {
			t.Fatal(err)
		}
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { reader.Run(ctx); close(ended) }()
		execute(t, writer, Add{Name: "a"})
		execute(t, writer, Count{3})
		time.Sleep(time.Minute)
		if n := total(t, reader); n != 5 {
			t.Errorf("the total is %d, want 5", n)
		}
		const want = "execute items/count: the server is read-only: the disk is on fire"
		if _, err := app.DoRaw(t.Context(), reader, Count{1}); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
		if err := reader.Snapshot(t.Context()); err == nil {
			t.Error("Snapshot() of a reader returned no error, want one")
		}
		end()
		<-ended
		if names, err := m.Names(t.Context(), ""); err != nil || len(names) > 0 || world.list() != "" {
			t.Errorf("documents %v, %v; sent %q; want no documents, no error and nothing sent", names, err, world.list())
		}
	})
}

// An unwritable store panics if the app writes to it.
type unwritable struct{ *eventlog.Memory }

func (unwritable) Write(context.Context, func(eventlog.Tx) error) error { panic("the app writes") }

// A refused command can be distinguished from a failed one.
func TestRefused(t *testing.T) {
	a := open(t, eventlog.NewMemory())
	execute(t, a, Add{Name: "a"})
	_, err := app.Do(app.With(t.Context(), a), Add{Name: "a"})
	if !errors.Is(err, app.ErrRefused) || err.Error() != `there is an item "a"` {
		t.Errorf("got error %v, want app.ErrRefused with the text %s", err, `there is an item "a"`)
	}
	for _, how := range []string{"check", "apply"} {
		if _, err := app.Do(app.With(t.Context(), a), Break{how}); err == nil || errors.Is(err, app.ErrRefused) {
			t.Errorf("got error %v, want an error", err)
		}
	}
}

// TryAmend accepts an amendment that helps, and refuses one after which replay gets stuck earlier.
func TestCheckAmendment(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m)
	execute(t, a, Count{1})
	execute(t, a, Add{Name: "a"})
	execute(t, a, Count{2})
	fresh := newer(func(r eventlog.Record) (eventlog.Payload, error) {
		if r.Type == "items/count" {
			return mapAll(r)
		}
		return r.Payload(), nil // add, version 1, is not known
	})
	for _, test := range []struct {
		feature app.Feature
		am      app.Amendment
		says    string // empty if it is good
	}{
		{items(), app.Amendment{Seq: 1, Skip: true}, ""},
		{items(), app.Amendment{Seq: 1, Type: "items/nonsense"}, "event 1 of the log (items/count, version 1"},
		{items(), app.Amendment{Seq: 1, Data: []byte(`{"by":"x"}`), Type: "items/count"}, "was mapped to items/count, version 1, and does not fit app_test.Count: by: must be"},
		{fresh, app.Amendment{Seq: 2, Skip: true}, ""},
		{fresh, app.Amendment{Seq: 2, Type: "items/add", Version: 2}, ""},
		{fresh, app.Amendment{Seq: 2, Type: "items/add"}, "event 2"},
		{fresh, app.Amendment{Seq: 1, Type: "items/break"}, "event 1"},
	} {
		err := app.NewAdmin(m.Share(), app.Options{}, test.feature).TryAmend(t.Context(), test.am.Edit())
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v, want %q", test.am, err, test.says)
		}
	}
	if n := last(t, m); n != 3 {
		t.Errorf("something was recorded: the log has %d events, want 3", n)
	}
}

// If an event came after the start of a process, the error says first that the build is newer, and
// names amendments.
func TestStuckSaysWhy(t *testing.T) {
	m := eventlog.NewMemory()
	old, fresh := open(t, m.Share()), open(t, m.Share(), newer(mapAll))
	execute(t, old, Count{1})
	execute(t, fresh, Tally{1})
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "why not"}); err != nil {
		t.Fatal(err)
	}
	_, err := app.DoRaw(t.Context(), old, Count{1})
	if err == nil || !strings.Contains(err.Error(), "the event log is newer than this process; restart it with the newer build\nevent 2 ") {
		t.Errorf("got error %v, want %q in it", err, "the event log is newer than this process; restart it with the newer build\nevent 2 ")
	}
	if _, err = app.Open(t.Context(), m.Share(), quiet(), items()); err == nil || strings.Contains(err.Error(), "restart it") || !strings.Contains(err.Error(), "amended before it: [1]") {
		t.Errorf(`at the start: got %v, want an error with "amended before it: [1]" in it, and no "restart it"`, err)
	}
}
