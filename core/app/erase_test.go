package app_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// everything returns the content of a store, snapshots included.
func everything(t *testing.T, s eventlog.Store) string {
	t.Helper()
	names, err := s.Names(t.Context(), "snapshot/")
	if err != nil {
		t.Fatal(err)
	}
	all := whole(t, s)
	for _, name := range names {
		value, err := s.Get(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		all += string(value)
	}
	return all
}

// An erased event leaves its number, id, time and type. Everything else about it is gone, and
// running processes have a state without it.
func TestErase(t *testing.T) {
	m := eventlog.NewMemory()
	running := open(t, m.Share())
	execute(t, running, Add{Name: "a"})
	execute(t, running, Add{Name: "secret", Key: "secret key"})
	execute(t, running, Count{5})
	for _, data := range []string{`{"name":"secret two"}`, `{"name":"secret"}`} {
		if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 2, Type: "items/add", Data: []byte(data), Reason: "secret"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := running.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(everything(t, m), "secret") < 8 {
		t.Fatalf("the store has %s, want the secret 8 times", everything(t, m))
	}
	if err := erase(app.WithActor(t.Context(), "ada"), m.Share(), 2, "a request"); err != nil {
		t.Fatal(err)
	}
	if all := everything(t, m); strings.Contains(all, "secret") {
		t.Errorf("after the erasure the store has %s, want no \"secret\"", all)
	}
	after, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), 2)
	if err != nil || after.Seq != before.Seq || after.ID != before.ID || after.Time != before.Time || after.Actor != before.Actor || after.Type != "app/erased" || string(after.Data) != `{"type":"items/add","version":1}` || after.Key != "" || after.Result != nil {
		t.Errorf("the event is %+v, %v, want its id, time and type, without content", after, err)
	}
	record, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), 6)
	if err != nil || record.Type != "app/amended" || !strings.Contains(string(record.Data), `"reason":"a request"`) || !strings.Contains(string(record.Data), `"by":"ada"`) {
		t.Errorf("recorded %+v, %v; want the type app/amended, with %q and %q in it, and no error", record, err, `"reason":"a request"`, `"by":"ada"`)
	}
	if got := dump(t, running); strings.Contains(got, "secret") || total(t, running) != 5 || got != replayed(t, m) {
		t.Errorf(`a running process has %s with the total %d, and a new one %s; want the same, the total 5 and no "secret"`, got, total(t, running), replayed(t, m))
	}
	if err := running.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if fresh, read := withFingerprint(t, m, "same"); dump(t, fresh) != dump(t, running) || read > 2 {
		t.Errorf("after the erasure, a new process read %d events and has %s; want at most 2 and %s", read, dump(t, fresh), dump(t, running))
	}
	for _, seq := range []int64{2, 4, 6, 7} { // erased, amendments, none
		if err := erase(t.Context(), m.Share(), seq, ""); !errors.Is(err, app.ErrNoEvents) {
			t.Errorf("Erase(%d) = %v, want ErrNoEvents", seq, err)
		}
	}
	for _, am := range []app.Amendment{{Seq: 2, Skip: true, Reason: "x"}, {Seq: 2, Type: "items/add", Data: []byte(`{}`), Reason: "x"}} {
		if err := amend(t.Context(), m.Share(), am); !errors.Is(err, app.ErrNoEvents) {
			t.Errorf("Amend(%+v) = %v, want ErrNoEvents", am, err)
		}
	}
	execute(t, running, Add{Name: "b", Key: "secret key"}) // the key is free
}

// A snapshot whose state was encoded before an erasure is not stored after it.
func TestEraseDuringSnapshot(t *testing.T) {
	m := eventlog.NewMemory()
	a := open(t, beforeWrite{m.Share(), func() {
		if err := erase(t.Context(), m.Share(), 1, ""); err != nil && !errors.Is(err, app.ErrNoEvents) {
			t.Error(err)
		}
	}})
	execute(t, open(t, m.Share()), Add{Name: "secret"})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all := everything(t, m); strings.Contains(all, "secret") {
		t.Errorf("the store has %s, want no \"secret\"", all)
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if names, err := m.Names(t.Context(), "snapshot/"); len(names) != 2 || err != nil {
		t.Errorf("the next snapshot: %v, %v; want two documents", names, err)
	}
}

// A beforeWrite is a store that does something before each Write.
type beforeWrite struct {
	*eventlog.Memory
	do func()
}

func (s beforeWrite) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	s.do()
	return s.Memory.Write(ctx, f)
}

// A worker forgets an erased event: one that it retries, has set aside, or has not seen.
func TestEraseForWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, world := eventlog.NewMemory(), &outside{}
		world.fail = func(name string, _ int) error {
			if strings.HasPrefix(name, "bad") {
				return errors.New("no address " + name)
			}
			return nil
		}
		p := start(t, m, mailing(world))
		defer p.end()
		execute(t, p.App, Add{Name: "bad1"})
		time.Sleep(5 * time.Minute) // it is set aside
		execute(t, p.App, Add{Name: "bad2"})
		execute(t, p.App, Add{Name: "bad3"})
		seqOf := func(name string) (seq int64) { // the worker appends events of its own
			for r, err := range m.Records(t.Context(), 0) {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(r.Data), name) {
					seq = r.Seq
				}
			}
			return seq
		}
		time.Sleep(time.Second)
		if w := worker(t, m); len(w.Aside) != 1 || w.Trying != seqOf("bad2") {
			t.Fatalf("the worker is %+v, want one event set aside, and event %d being tried", w, seqOf("bad2"))
		}
		if err := app.NewAdmin(m.Share(), app.Options{}).Retry(t.Context(), "items/mailer", 1); err != nil {
			t.Fatal(err)
		}
		tries := strings.Count(world.list(), "bad2")
		for _, seq := range []int64{1, seqOf("bad2"), seqOf("bad3")} {
			if err := erase(t.Context(), m.Share(), seq, ""); err != nil {
				t.Fatal(err)
			}
		}
		execute(t, p.App, Add{Name: "good"})
		time.Sleep(9 * time.Minute)
		if got := world.list(); strings.Count(got, "bad2") > tries || strings.Contains(got, "bad3") || !strings.Contains(got, " good") {
			t.Errorf("sent %s, want bad2 at most %d times, no bad3, and good", got, tries)
		}
		if w := worker(t, m); len(w.Aside) != 0 || w.Trying != 0 || w.Behind != 0 || w.Error != "" {
			t.Errorf("the worker is %+v, want nothing set aside, tried, behind or failed", w)
		}
		if all := everything(t, m); regexp.MustCompile(`\bbad[123]`).MatchString(all) {
			t.Errorf("the store has %s, want none of bad1, bad2, bad3", all)
		}
	})
}

// interrupted fails after some writes.
type interrupted struct {
	*eventlog.Memory
	writes, scrubs int
}

func (s *interrupted) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	if s.writes--; s.writes < 0 {
		return context.Canceled
	}
	return s.Memory.Write(ctx, f)
}

func (s *interrupted) Scrub(context.Context) error { s.scrubs++; return nil }

// Events are erased together, with one event in the log that records it and one rewriting of the
// files. An erasure that was interrupted can be run again.
func TestEraseMany(t *testing.T) {
	const n = 2500
	for writes := range 4 {
		m := eventlog.NewMemory()
		running := open(t, m.Share())
		err := m.Share().Write(t.Context(), func(tx eventlog.Tx) error {
			for seq := int64(1); seq <= n; seq++ {
				r := eventlog.Record{Seq: seq, ID: "x", Actor: "secret", Type: "items/count", Version: 1, Data: []byte(`{"by":1}`), Cause: []byte(`{"request":"secret"}`)}
				if seq%5 == 0 {
					r.Actor, r.Cause = "ada", nil
				}
				if err := tx.Append(r); err != nil {
					return err
				}
			}
			return errors.Join(tx.Put("aside/items/x/0000000000000000001", []byte("secret")), tx.Put("aside/items/x/0000000000000000005", []byte("kept")),
				tx.Put("fallback/0000000000000000002", []byte(`{"type":"secret"}`)))
		})
		if err != nil {
			t.Fatal(err)
		}
		if total(t, running) != n {
			t.Fatalf("the total is %v, want %v", total(t, running), n)
		}
		if _, err := app.NewAdmin(m.Share(), app.Options{}).Amend(t.Context(), skipping(1, 10)); err != nil {
			t.Fatal(err)
		}
		s := &interrupted{Memory: m.Share(), writes: writes}
		e := app.Erasure{Reason: "a request", Match: func(r eventlog.Record, _ *app.Amendment) bool { return r.Actor == "secret" }}
		_, err = app.NewAdmin(s, app.Options{}).Erase(t.Context(), e)
		if err == nil {
			t.Fatalf("%d writes: the erasure was not interrupted, want an error", writes)
		}
		if got := total(t, running); writes > 0 && got != n/5-2 || writes == 0 && got != n-10 {
			t.Errorf("%d writes: a running process has %d, want %d, or %d before the first write", writes, got, n/5-2, n-10)
		}
		scrubs := s.scrubs
		s.writes = 100
		last := e
		last.Match = func(eventlog.Record, *app.Amendment) bool { return false } // the rest is known
		if writes == 0 {
			last = e
		}
		if done, err := app.NewAdmin(s, app.Options{}).Erase(t.Context(), last); err != nil && !errors.Is(err, app.ErrNoEvents) || s.scrubs != scrubs+1 {
			t.Errorf("%d writes: once more: %d events, %d times rewritten, want %v: %v", writes, done, s.scrubs, scrubs+1, err)
		}
		if all := everything(t, m); strings.Contains(all, "secret") || !strings.Contains(all, "kept") || strings.Count(all, `"count":2000`) != 1 {
			t.Errorf(`%d writes: the store has %q; want no "secret", "kept" in it, and "count":2000 once`, writes, all)
		}
		if got := total(t, running); got != n/5-2 || dump(t, running) != replayed(t, m) {
			t.Errorf("%d writes: a running process has the total %d and %s; want %d and, as a new process, %s", writes, got, dump(t, running), n/5-2, replayed(t, m))
		}
		if _, err := app.NewAdmin(s, app.Options{}).Erase(t.Context(), e); !errors.Is(err, app.ErrNoEvents) || s.scrubs != scrubs+1 {
			t.Errorf("%d writes: after the end got %v and %d scrubs, want app.ErrNoEvents and %d", writes, err, s.scrubs, scrubs+1)
		}
	}
}
