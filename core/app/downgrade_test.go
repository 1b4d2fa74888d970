package app_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

func (c Sum) Downgrade() SumV2     { return SumV2{c.Amount.N} }
func (old SumV2) Downgrade() SumV1 { return SumV1{old.Amount} }

// summingBack is the feature of a build whose command count has version 3.
func summingBack() app.Feature {
	return summing(app.OlderOf[SumV1](1, SumV2.Downgrade), app.OlderOf[SumV2](2, Sum.Downgrade))
}

func downgrade(t *testing.T, m *eventlog.Memory, d app.Downgrade, f app.Feature) (app.DowngradeReport, error) {
	t.Helper()
	d.Type = "items/count"
	return app.NewAdmin(m.Share(), quiet(), f).Downgrade(t.Context(), d)
}

// After a downgrade, processes of an older build continue, and new ones start. The newer build
// ignores it.
func TestDowngrade(t *testing.T) {
	m := eventlog.NewMemory()
	older, fresh := open(t, m.Share()), open(t, m.Share(), summingBack())
	execute(t, older, Count{1})
	record(t, m, "items/count", 2, `{"amount":10}`)
	execute(t, fresh, Sum{Amount{100, "kg"}})
	execute(t, fresh, Add{Name: "a"})
	if _, err := app.DoRaw(t.Context(), older, Count{1}); err == nil || !strings.Contains(err.Error(), "run the newer build; to go on with this one, let the newer build run  hello log downgrade items/count --to 1") {
		t.Errorf("got error %v, want %q in it", err, "run the newer build; to go on with this one, let the newer build run  hello log downgrade items/count --to 1")
	}
	before := whole(t, m)
	report, err := downgrade(t, m, app.Downgrade{To: 1, DryRun: true}, summingBack())
	if err != nil || report.Events != 2 || report.Stored != 2 || report.First != 2 || string(report.After.Data) != `{"by":10}` {
		t.Errorf(`a dry run reports %+v, %v; want two events, two stored, from event 2 on, and {"by":10}`, report, err)
	}
	if got := whole(t, m); got != before {
		t.Errorf("a dry run changed the log to\n%s\nfrom\n%s", got, before)
	}
	if report, err = downgrade(t, m, app.Downgrade{To: 1, Reason: "back"}, summingBack()); err != nil || report.Stored != 2 {
		t.Fatalf("%+v, %v, want Stored 2", report, err)
	}
	counted := &counting{Memory: m.Share()}
	again, err := app.Open(t.Context(), counted, quiet(), summingBack())
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]*app.App{"running": older, "new": open(t, m.Share()), "newer": fresh, "new newer": again} {
		if n := total(t, a); n != 111 {
			t.Errorf("%s: the total is %d, want 111", name, n)
		}
	}
	if got := dump(t, older); !strings.Contains(got, `"name":"a"`) {
		t.Errorf("the older build has %s, want %q in it", got, `"name":"a"`)
	}
	r, err := app.NewAdmin(m, app.Options{}).Find(t.Context(), 5)
	if err != nil || r.Type != "app/amended" || !strings.Contains(string(r.Data), `"fallback":true`) || !strings.Contains(string(r.Data), `"reason":"back"`) {
		t.Errorf("recorded %s %s, %v; want app/amended, with %q and %q in it, and no error", r.Type, r.Data, err, `"fallback":true`, `"reason":"back"`)
	}
	if value, err := older.Command(eventlog.Record{Seq: 3, Type: "items/count", Version: 3, Data: []byte(`{"amount":{"n":100,"unit":"kg"}}`)}); err != nil || value != (Count{100}) {
		t.Errorf("the command of event 3 is %#v, %v; want %#v and no error", value, err, Count{100})
	}

	before = whole(t, m)
	if report, err = downgrade(t, m, app.Downgrade{To: 1}, summingBack()); err != nil || report.Stored != 0 || report.Events != 2 {
		t.Errorf("once more: %+v, %v; want two events and none stored", report, err)
	}
	if got := whole(t, m); got != before {
		t.Errorf("the second downgrade changed the log to\n%s\nfrom\n%s", got, before)
	}
	execute(t, older, Count{1000})
	execute(t, fresh, Sum{Amount{10000, "kg"}})
	if _, err := app.DoRaw(t.Context(), older, Count{1}); err == nil {
		t.Error("the older build ran a command after an event that it does not know, want an error")
	}
	counted.read = 0
	if report, err = downgrade(t, m, app.Downgrade{To: 1}, summingBack()); err != nil || report.Stored != 1 || report.Events != 3 {
		t.Errorf("for a new event: %+v, %v, want Stored 1, Events 3", report, err)
	}
	if total(t, older) != 11111 || total(t, again) != 11111 || counted.read > 5 {
		t.Errorf("the totals are %d and %d, and the newer build has read %d events; want 11111 twice, and at most 5", total(t, older), total(t, again), counted.read)
	}

	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 3, Type: "items/count", Version: 3, Data: []byte(`{"amount":{"n":200,"unit":"kg"}}`), Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	if result, err := app.DoRaw(t.Context(), older, Count{1}); err == nil {
		t.Errorf("after an amendment, the older build returns %s, want an error: the event has no older version", result)
	}
	if got := total(t, fresh); got != 11211 {
		t.Errorf("the total with the amendment is %d, want 11211", got)
	}
	if _, err = downgrade(t, m, app.Downgrade{To: 1}, summingBack()); err != nil || total(t, older) != 11211 {
		t.Errorf("the total is %d, want 11211: %v", total(t, older), err)
	}
	if err := erase(t.Context(), m.Share(), 3, ""); err != nil {
		t.Fatal(err)
	}
	if value, err := m.Get(t.Context(), "fallback/0000000000000000003"); value != nil || err != nil || total(t, older) != 11011 || total(t, fresh) != 11011 {
		t.Errorf("after an erasure the fallback is %s, %v, and the totals are %d and %d; want none, no error, and 11011 twice", value, err, total(t, older), total(t, fresh))
	}
}

// If a downgrade has another result than before, all processes that may have used it rebuild.
func TestDowngradeChanges(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m.Share(), summingBack()), Sum{Amount{100, "kg"}})
	if _, err := downgrade(t, m, app.Downgrade{To: 1}, summingBack()); err != nil {
		t.Fatal(err)
	}
	older := open(t, m.Share())
	if err := older.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := summing(app.OlderOf[SumV1](1, func(SumV2) SumV1 { return SumV1{7} }), app.OlderOf[SumV2](2, Sum.Downgrade))
	if report, err := downgrade(t, m, app.Downgrade{To: 1}, other); err != nil || report.Stored != 1 {
		t.Fatalf("%+v, %v, want Stored 1", report, err)
	}
	if n := total(t, older); n != 7 {
		t.Errorf("a running process has %d, want 7", n)
	}
	if n := total(t, open(t, m.Share())); n != 7 {
		t.Errorf("a new process has %d, want 7", n)
	}
}

// A command without Downgrade, or whose result does not fit, is refused.
func TestDowngradeRefused(t *testing.T) {
	m := eventlog.NewMemory()
	execute(t, open(t, m.Share(), summingBack()), Sum{Amount{100, "kg"}})
	for want, test := range map[string]struct {
		to    int
		older []app.Older
	}{
		"items/count has no version 4 below its version 3":                   {4, []app.Older{app.OlderOf[SumV1](1), app.OlderOf[SumV2](2)}},
		"items/count has no version 3 below its version 3":                   {3, []app.Older{app.OlderOf[SumV1](1), app.OlderOf[SumV2](2)}},
		"downgrade event 1: app_test.Sum has no method Downgrade":            {1, []app.Older{app.OlderOf[SumV1](1, SumV2.Downgrade), app.OlderOf[SumV2](2)}},
		"downgrade event 1: app_test.SumV2 has no method Downgrade":          {1, []app.Older{app.OlderOf[SumV1](1), app.OlderOf[SumV2](2, Sum.Downgrade)}},
		"downgrade event 1: panic: no":                                       {2, []app.Older{app.OlderOf[SumV2](2, func(Sum) SumV2 { panic("no") })}},
		"downgrade event 1: the result does not fit app_test.Wrong: n: 7 is": {2, []app.Older{app.OlderOf[Wrong](2, func(Sum) Wrong { return Wrong{} })}},
	} {
		f := summing(test.older...)
		if report, err := downgrade(t, m, app.Downgrade{To: test.to}, f); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got error %v and %+v, want %s", err, report, want)
		}
	}
	if names, err := m.Names(t.Context(), ""); len(names) > 0 || err != nil {
		t.Errorf("stored %q, want none: %v", names, err)
	}
}

// Wrong cannot decode what it encodes.
type Wrong struct {
	N wrongNumber `json:"n"`
}

type wrongNumber struct{}

func (wrongNumber) MarshalJSON() ([]byte, error) { return []byte("7"), nil }
func (*wrongNumber) UnmarshalJSON([]byte) error  { return errWrong }

var errWrong = errorText("7 is not a wrong number")

type errorText string

func (e errorText) Error() string { return string(e) }

func (Wrong) Upgrade() Sum { return Sum{} }

// More events than one transaction stores, and a worker of the older build that handles them.
func TestDowngradeMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2500
		m := eventlog.NewMemory()
		err := m.Write(t.Context(), func(tx eventlog.Tx) error {
			for seq := int64(1); seq <= n; seq++ {
				if err := tx.Append(eventlog.Record{Seq: seq, ID: "x", Type: "items/count", Version: 3, Data: []byte(`{"amount":{"n":1,"unit":"kg"}}`)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if report, err := downgrade(t, m, app.Downgrade{To: 1}, summingBack()); err != nil || report.Stored != n {
			t.Fatalf("%+v, %v, want Stored %v", report, err, n)
		}
		if got := last(t, m); got != n+1 {
			t.Errorf("the log has %d events, want %v", got, n+1)
		}
		f, handled := items(), 0
		f.Workers = []app.Worker{app.WorkerOf("follow", func(context.Context) (*Mailer, error) { return &Mailer{}, nil }, app.FromStart[Mailer](),
			app.On(func(_ *Mailer, _ context.Context, c Count, _ app.Event) error { handled += c.By; return nil }))}
		older := open(t, m.Share(), f)
		if got := total(t, older); got != n {
			t.Errorf("the total is %d, want %v", got, n)
		}
		if err := older.WorkOnce(t.Context()); err != nil || handled != n {
			t.Errorf("the worker has handled %d events, want %v: %v", handled, n, err)
		}
		time.Sleep(time.Second)
	})
}
