package app_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// skipping returns an edit that skips the events of a range.
func skipping(first, last int64) app.Edit {
	return app.Edit{First: first, Last: last, Reason: "a test", Amend: func(eventlog.Record, *app.Amendment) (app.Amendment, bool, error) {
		return app.Amendment{Skip: true}, true, nil
	}}
}

// An edit of many events is one event of the log, and running processes rebuild once.
func TestEdit(t *testing.T) {
	const n = 3000
	m := eventlog.NewMemory()
	s := &counting{Memory: m.Share()}
	a, err := app.Open(t.Context(), s, quiet(), items())
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		execute(t, a, Count{1})
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, a, Count{1000})
	half := app.Edit{Reason: "half", Fields: []string{"set by"}, Amend: func(r eventlog.Record, before *app.Amendment) (app.Amendment, bool, error) {
		if before != nil {
			t.Errorf("event %d is already amended by %+v, want no amendment", r.Seq, before)
		}
		return app.Amendment{Type: r.Type, Version: 1, Data: []byte(`{"by":3}`)}, r.Seq%2 == 0, nil
	}}
	set, err := app.NewAdmin(m.Share(), app.Options{}).Amend(app.WithActor(t.Context(), "ada"), half)
	if err != nil || set.Events() != n/2 || set.Seq != 2 || set.Last != n {
		t.Errorf("the edit is %+v with %d events, %v; want %d, from 2 to %d", set, set.Events(), err, n/2, n)
	}
	s.read = 0
	if got := total(t, a); got != n/2+3*n/2+1000 || s.read > n+10 {
		t.Errorf("the total is %d, after %d events were read; want %d, and at most %d", got, s.read, n/2+3*n/2+1000, n+10)
	}
	if got := last(t, m); got != n+2 {
		t.Errorf("the log has %d events, want %v", got, n+2)
	}
	r, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), n+2)
	if err != nil || r.Actor != "ada" || !strings.Contains(string(r.Data), `"count":1500`) || !strings.Contains(string(r.Data), `"fields":["set by"]`) || strings.Contains(string(r.Data), `"by":3`) {
		t.Errorf("recorded %s by %s, %v; want it by ada, with %q and %q in it, without %q, and no error", r.Data, r.Actor, err, `"count":1500`, `"fields":["set by"]`, `"by":3`)
	}
	if fresh := open(t, m.Share()); dump(t, fresh) != dump(t, a) {
		t.Errorf("a new process has another state: got %q, want %q", dump(t, fresh), dump(t, a))
	}
	if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), skipping(1, 10)); err != nil {
		t.Fatal(err)
	}
	if got := total(t, a); got != n/2+3*n/2+1000-20 {
		t.Errorf("after a second edit, the total is %d, want %v", got, n/2+3*n/2+1000-20)
	}
	if am, err := app.NewAdmin(m, app.Options{}).FindAmendment(t.Context(), 12); err != nil || am == nil || string(am.Data) != `{"by":3}` || am.Reason != "half" {
		t.Errorf(`the amendment of event 12 is %+v, want am not nil, Data %q, Reason "half": %v`, am, `{"by":3}`, err)
	}
	for _, e := range []app.Edit{skipping(n+2, n+3), skipping(n+99, 0)} { // events of the log itself; none
		if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), e); !errors.Is(err, app.ErrNoEvents) {
			t.Errorf("got error %v, want app.ErrNoEvents", err)
		}
	}
	failed := skipping(0, 0)
	failed.Amend = func(r eventlog.Record, _ *app.Amendment) (app.Amendment, bool, error) {
		return app.Amendment{Skip: true}, true, map[bool]error{true: io.ErrUnexpectedEOF}[r.Seq == 9]
	}
	before := whole(t, m)
	if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), failed); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("an edit that fails returns %v, want io.ErrUnexpectedEOF", err)
	}
	if got := whole(t, m); got != before {
		t.Errorf("an edit that fails changed the log to\n%s\nfrom\n%s", got, before)
	}
}

// An edit is tried as a whole: skipping an event that a later one needs is possible if both are
// skipped.
func TestEditIsTried(t *testing.T) {
	m := eventlog.NewMemory()
	feature := builds()[0]
	a := open(t, m.Share(), feature)
	execute(t, a, Count{1})
	record(t, m, "items/explode", 1, `{"how":"new"}`)
	record(t, m, "items/explode", 1, `{"how":"new"}`)
	if err := app.NewAdmin(m.Share(), quiet(), feature).TryAmend(t.Context(), skipping(2, 2)); err != nil {
		t.Errorf("TryAmend of an edit that leads to a later error: %v, want no error", err)
	}
	if err := app.NewAdmin(m.Share(), quiet(), feature).TryAmend(t.Context(), skipping(2, 3)); err != nil {
		t.Error(err)
	}
	if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), skipping(2, 3)); err != nil {
		t.Fatal(err)
	}
	worse := skipping(2, 3)
	worse.Amend = func(r eventlog.Record, _ *app.Amendment) (app.Amendment, bool, error) {
		return app.Amendment{Type: r.Type, Version: 1}, true, nil
	}
	if err := app.NewAdmin(m.Share(), quiet(), feature).TryAmend(t.Context(), worse); err == nil || !strings.HasPrefix(err.Error(), "with this amendment, event 2 ") {
		t.Errorf("got error %v, want it to start with %q", err, "with this amendment, event 2 ")
	}
	open(t, m.Share(), feature)
}

// A snapshot is used unless an event in it was amended since.
func TestSnapshotAfterEdits(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m.Share())
	for range 600 {
		execute(t, a, Count{1})
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 300 {
		execute(t, a, Count{1})
	}
	for i := range 200 { // more than the index of the amendments has
		if err := amend(t.Context(), m.Share(), app.Amendment{Seq: int64(650 + i), Skip: true, Reason: "late"}); err != nil {
			t.Fatal(err)
		}
	}
	fresh, read := withFingerprint(t, m, "same")
	if total(t, fresh) != 700 || read > 600 {
		t.Errorf("amendments of later events: the total is %d, and %d events were read; want 700, and at most 600", total(t, fresh), read)
	}
	if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), skipping(300, 300)); err != nil {
		t.Fatal(err)
	}
	if fresh, read := withFingerprint(t, m, "same"); total(t, fresh) != 699 || read < 1100 {
		t.Errorf("an amendment of an earlier event: the total is %d, and %d events were read; want 699, and at least 1100", total(t, fresh), read)
	}
}

// A backup of a build that stored all amendments in one document is converted when it is read.
func TestOldBackup(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, m.Share())
	for range 3 {
		execute(t, a, Count{1})
	}
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	restored := eventlog.NewMemory()
	err := m.Write(t.Context(), func(tx eventlog.Tx) error { // as the older build has it
		am, err := tx.Get("amendment/0000000000000000002")
		return errors.Join(err, tx.Put("amendments", fmt.Appendf(nil, `{"2":%s}`, am)), tx.Put("amendment/0000000000000000002", nil), tx.Put("amended", nil))
	})
	if err != nil {
		t.Fatal(err)
	}
	backup, err := readBackup(backedUp(t, m))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.NewAdmin(restored, quiet(), items()).Copy(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	b := open(t, restored.Share())
	if n := total(t, b); n != 2 {
		t.Errorf("the total is %d, want 2", n)
	}
	if names, err := restored.Names(t.Context(), ""); err != nil || strings.Join(names, " ") != "amended amendment/0000000000000000002" {
		t.Errorf("the documents are %q, %v; want amended and amendment/0000000000000000002", names, err)
	}
	if err := amend(t.Context(), restored.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	if n := total(t, b); n != 1 {
		t.Errorf("after another amendment the total is %d, want 1", n)
	}
}
