package app_test

import (
	"context"
	"iter"
	"strings"
	"testing"

	"github.com/petrock/petrock/core/app"
)

// withFingerprint opens the log as a program with that fingerprint would, and counts how many entries it applies.
func withFingerprint(t *testing.T, m *app.Memory, fingerprint string) (*app.App, int) {
	t.Helper()
	o := quiet()
	o.Fingerprint = fingerprint
	s := &counting{Memory: m.Share()}
	a, err := app.Open(t.Context(), s, o, items())
	if err != nil {
		t.Fatal(err)
	}
	return a, s.read
}

type counting struct {
	*app.Memory
	read int
}

func (c *counting) Records(ctx context.Context, after int64) iter.Seq2[app.Record, error] {
	return func(yield func(app.Record, error) bool) {
		for r, err := range c.Memory.Records(ctx, after) {
			c.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

func TestSnapshot(t *testing.T) {
	m := app.NewMemory()
	a := open(t, m)
	for range 100 {
		execute(t, a, Count{1})
	}
	execute(t, a, Add{Name: "first"})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	execute(t, a, Count{1})
	same, read := withFingerprint(t, m, "same")
	if read > 2 || dump(t, same) != dump(t, a) || dump(t, same) != replayed(t, m) {
		t.Errorf("it has read %d entries, and has the state\n%s\nnot\n%s", read, dump(t, same), dump(t, a))
	}
	execute(t, same, Count{1})
	if n := total(t, a); n != 102 {
		t.Errorf("the total is %d", n)
	}
	other, read := withFingerprint(t, m, "other")
	if read != 103 || dump(t, other) != dump(t, a) {
		t.Errorf("other code has read %d entries, and has the state\n%s\nnot\n%s", read, dump(t, other), dump(t, a))
	}

	// What is amended in the first entries is in no snapshot of before.
	if err := app.Amend(t.Context(), m.Share(), app.Amendment{Seq: 5, Skip: true, Reason: "never mind"}); err != nil {
		t.Fatal(err)
	}
	amended, read := withFingerprint(t, m, "same")
	if n := total(t, amended); read < 100 || n != 101 || total(t, a) != n {
		t.Errorf("it has read %d entries, and the total is %d", read, n)
	}
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, read := withFingerprint(t, m, "same"); read > 2 || dump(t, again) != dump(t, a) {
		t.Errorf("it has read %d entries", read)
	}
	status, err := a.Status(t.Context())
	if err != nil || status.Features[0].Snapshot != 104 || status.Seq != 104 {
		t.Errorf("%+v, %v", status, err)
	}
}

// A snapshot that is damaged, or of another log, is of no use and does no harm.
func TestBadSnapshot(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"cut":     func(text string) string { return text[:len(text)/2] },
		"shorter": func(text string) string { return text[:len(text)-3] },
		"typed":   func(text string) string { return strings.Replace(text, `"total":2`, `"total":"2"`, 1) },
		"empty":   func(string) string { return "" },
		"another": func(text string) string { return strings.Replace(text, `"id":"`, `"id":"x`, 1) },
		"later":   func(text string) string { return strings.Replace(text, `"seq":2`, `"seq":7`, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			m := app.NewMemory()
			a := open(t, m)
			execute(t, a, Count{1})
			execute(t, a, Count{1})
			if err := a.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			err := m.Share().Write(t.Context(), func(tx app.Tx) error {
				text, err := tx.Get("snapshot/items/same")
				if err != nil {
					return err
				}
				return tx.Put("snapshot/items/same", []byte(change(string(text))))
			})
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := withFingerprint(t, m, "same"); total(t, again) != 2 {
				t.Errorf("the total is %d", total(t, again))
			}
		})
	}
}

// Old builds leave no more than one snapshot behind.
func TestSnapshotsAreDropped(t *testing.T) {
	m := app.NewMemory()
	execute(t, open(t, m), Count{1})
	for _, fingerprint := range []string{"a", "b", "c", "d"} {
		a, _ := withFingerprint(t, m, fingerprint)
		execute(t, a, Count{1})
		if err := a.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	names, err := m.Names(t.Context(), "snapshot/")
	if err != nil || strings.Join(names, " ") != "snapshot/items/c snapshot/items/d" {
		t.Errorf("%v, %v", names, err)
	}
}

// A state that JSON does not hold is replayed, and said to be so.
func TestUnkeptState(t *testing.T) {
	m := app.NewMemory()
	feature := app.Feature{Name: "hidden", State: app.StateOf(func() *hidden { return &hidden{} }), Commands: []app.Command{app.CommandOf[hide]("hide", 1)}}
	a := open(t, m, feature)
	execute(t, a, hide{3})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	b := open(t, m.Share(), feature)
	if result := execute(t, b, hide{4}); result != "7" {
		t.Errorf("the sum is %s", result)
	}
	status, err := a.Status(t.Context())
	if err != nil || !strings.Contains(status.Features[0].Unkept, "hidden.sum is not written down as JSON") {
		t.Errorf("%+v, %v", status, err)
	}
}

type hidden struct{ sum int }

type hide struct{ N int }

func (hide) Check(context.Context, *hidden) error { return nil }
func (c hide) Apply(s *hidden, _ app.Entry) int   { s.sum += c.N; return s.sum }
