package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

type requestKey struct{}

// Events record the request, or the worker and the event that it handled. Erasing an event removes
// its cause, and a backup has the causes.
func TestCause(t *testing.T) {
	m := eventlog.NewMemory()
	feature := items()
	feature.Workers = []app.Worker{app.WorkerOf("echo", func(context.Context) (*Mailer, error) { return &Mailer{}, nil },
		app.On(func(_ *Mailer, ctx context.Context, _ Add, _ app.Event) error {
			_, err := app.Do(ctx, Count{1})
			return err
		}),
		app.Every(time.Hour, func(_ *Mailer, ctx context.Context) error {
			_, err := app.Do(ctx, Count{10})
			return err
		}))}
	o := quiet()
	o.Cause = func(ctx context.Context) eventlog.Cause {
		request, _ := ctx.Value(requestKey{}).(string)
		return eventlog.Cause{Request: request}
	}
	a, err := app.Open(t.Context(), m.Share(), o, feature)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.DoRaw(context.WithValue(t.Context(), requestKey{}, "r1"), a, Add{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	execute(t, a, Count{5})
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{`{"request":"r1"}`, "", `{"worker":"items/echo"}`, `{"event":1,"worker":"items/echo"}`}
	check := func(s eventlog.Store) {
		t.Helper()
		var got []string
		for r, err := range s.Records(t.Context(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if len(got) < len(want) {
				got = append(got, string(r.Cause))
			}
		}
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("the causes are %q, want %q", got, want)
		}
	}
	check(m)
	copied := eventlog.NewMemory()
	err = m.View(t.Context(), func(v eventlog.View) error {
		_, err := app.NewAdmin(copied, quiet(), feature).Copy(t.Context(), v)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	check(copied)
	if err := erase(t.Context(), m.Share(), 1, ""); err != nil {
		t.Fatal(err)
	}
	want[0] = ""
	check(m)
}
