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

// working has a worker of type W, which does nothing.
func working[W any]() app.Feature {
	f := items()
	f.Workers = []app.Worker{app.WorkerOf("mailer", func(context.Context) (*W, error) { return new(W), nil })}
	return f
}

// Open fails if saved fields do not fit the worker. They can be discarded.
func TestSavedFieldsAreExact(t *testing.T) {
	type optional struct {
		Sent  int    `json:"sent"`
		Extra string `json:"extra,omitempty"`
		More  *int   `json:"more"`
	}
	type renamed struct {
		Count int `json:"count"`
	}
	type added struct {
		Sent  int `json:"sent"`
		Total int `json:"total"`
	}
	type retyped struct {
		Sent string `json:"sent"`
	}
	type removed struct{}
	for _, test := range []struct {
		name    string
		feature app.Feature
		says    string // empty if it is accepted
	}{
		{"the same", working[Mailer](), ""},
		{"optional field added", working[optional](), ""},
		{"renamed", working[renamed](), `do not fit app_test.renamed: field "sent" is unknown, "count" is missing`},
		{"added", working[added](), `do not fit app_test.added: field "total" is missing`},
		{"another type", working[retyped](), "do not fit app_test.retyped: sent: must be a string, got a number"},
		{"removed", working[removed](), `do not fit app_test.removed: field "sent" is unknown`},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			before := open(t, m.Share(), working[Mailer]())
			execute(t, before, Add{Name: "a"})
			if err := before.WorkOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, noWorkers := range []bool{true, false} {
				o := quiet()
				o.NoWorkers = noWorkers
				a, err := app.Open(t.Context(), m.Share(), o, test.feature)
				if noWorkers {
					if err != nil {
						t.Fatal(err)
					}
					err = a.WorkOnce(t.Context()) // its own start finds out too
				}
				if (err == nil) != (test.says == "") || err != nil && (!strings.Contains(err.Error(), test.says) ||
					!strings.Contains(err.Error(), "saved fields of worker items/mailer") || !strings.Contains(err.Error(), "hello workers reset items/mailer")) {
					t.Errorf("noWorkers %t: got error %v; want %q, if not empty with the worker items/mailer and the command that resets it", noWorkers, err, test.says)
				}
			}
			discarded, err := app.NewAdmin(m.Share(), app.Options{}).ResetWorker(t.Context(), "items/mailer")
			if err != nil || !strings.Contains(string(discarded), `"sent":0`) {
				t.Errorf("discarded %s, %v, want %q in it", discarded, err, `"sent":0`)
			}
			if err := open(t, m.Share(), test.feature).WorkOnce(t.Context()); err != nil {
				t.Error(err)
			}
			if w := worker(t, m); w.Position != 1 {
				t.Errorf("%+v, want Position 1", w)
			}
		})
	}
}

func TestResetWorkerRefuses(t *testing.T) {
	m := eventlog.NewMemory()
	if _, err := app.NewAdmin(m, app.Options{}).ResetWorker(t.Context(), "items/mailer"); err == nil || err.Error() != "reset worker items/mailer: the worker has never run on this data" {
		t.Errorf("got error %v, want %s", err, "reset worker items/mailer: the worker has never run on this data")
	}
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		p := start(t, m, working[Mailer]())
		defer p.end()
		time.Sleep(time.Second)
		if _, err := app.NewAdmin(m.Share(), app.Options{}).ResetWorker(t.Context(), "items/mailer"); err == nil || !strings.Contains(err.Error(), "runs the worker; stop the process first") {
			t.Errorf("got error %v, want \"runs the worker; stop the process first\" in it", err)
		}
	})
}
