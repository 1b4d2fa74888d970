package appserve

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

func TestWorkers(t *testing.T) {
	dir := t.TempDir()
	store, err := New("weather", posts()).create(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "workers"); out != "No worker of this program has run on this data.\n" {
		t.Errorf("got output %s, want %q", out, "No worker of this program has run on this data.\n")
	}
	if out := must(t, dir, "workers", "--json"); out != "[]\n" {
		t.Errorf("got output %s, want %q", out, "[]\n")
	}
	a, err := New("weather", posts()).app(t.Context(), store, app.Options{Tries: 1, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := app.DoRaw(t.Context(), a, create{"bad"}); err != nil {
			t.Fatal(err)
		}
	}
	untilAside(t, a, store, 3)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	var all []shownWorker
	if err := json.Unmarshal([]byte(must(t, dir, "workers", "--json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 || all[0].Name != "posts/digest" || all[0].Position != 3 || all[0].Behind != 0 || len(all[0].Aside) != 3 || all[0].Unknown {
		t.Errorf("the workers are %+v, want posts/digest at event 3, with three events aside", all)
	}
	if out := must(t, dir, "workers"); !strings.Contains(out, "digest service is down") || !strings.Contains(out, "Next:\n  weather workers retry posts/digest --all\n") {
		t.Errorf("got output\n%s, want %q and %q in it", out, "digest service is down", "Next:\n  weather workers retry posts/digest --all\n")
	}
	for args, want := range map[string]string{"1": "event 1", "3 2": "events 3, 2", "--all": "events 1, 2, 3"} {
		if out := must(t, dir, append([]string{"workers", "retry", "posts/digest"}, strings.Fields(args)...)...); !strings.HasPrefix(out, "posts/digest retries "+want+" as soon as ") {
			t.Errorf("%s prints\n%s, want it to start with %q", args, out, "posts/digest retries "+want+" as soon as ")
		}
	}
	out, err := run(t, dir, "workers", "retry", "posts/digest", "7", "2")
	if terminal.ExitCode(err) != terminal.ExitFailure || !strings.Contains(err.Error(), "has not set event 7 aside") || !strings.HasPrefix(out, "posts/digest retries event 2 as soon") {
		t.Errorf("got exit code %d, error %v, output %s; want %d, an error with %q in it, and output that starts with %q", terminal.ExitCode(err), err, out, terminal.ExitFailure, "has not set event 7 aside", "posts/digest retries event 2 as soon")
	}
	removed(t, dir)
}

// removed checks the output for a worker that has run on the data and is no longer in the program.
func removed(t *testing.T, dir string) {
	t.Helper()
	less := posts()
	less.Workers = nil
	said := func(args ...string) (string, error) {
		var out strings.Builder
		cmd := command(New("weather", less), append(args, "--data", dir)...)
		cmd.SetOut(&out)
		err := cmd.ExecuteContext(t.Context())
		return out.String(), err
	}
	if out, err := said("workers"); err != nil || out != "No worker of this program has run on this data.\n" {
		t.Errorf("got error %v, output %s; want no removed worker", err, out)
	}
	if out, err := said("workers", "--all"); err != nil || !strings.Contains(out, "-  (not in this program: renamed or removed)\n") || strings.Contains(out, "workers retry") {
		t.Errorf("got error %v, output\n%s; want no error, %q in it, and no \"workers retry\"", err, out, "- (not in this program: renamed or removed)\n")
	}
	if out, err := said("workers", "--all", "--json"); err != nil || !strings.Contains(out, `"unknown": true`) {
		t.Errorf("got error %v, output\n%s, want %q in it", err, out, `"unknown": true`)
	}
	if _, err := said("workers", "retry", "posts/digest", "--all"); err == nil || err.Error() != "worker posts/digest was renamed or removed; the workers are: none" {
		t.Errorf("got error %v, want %s", err, "worker posts/digest was renamed or removed; the workers are: none")
	}
}

// A worker that has never failed has nothing to retry.
func TestRetryNothing(t *testing.T) {
	if out := must(t, filled(t, "a"), "workers", "retry", "posts/digest", "--all"); out != "posts/digest has set nothing aside.\n" {
		t.Errorf("got output %s, want %q", out, "posts/digest has set nothing aside.\n")
	}
}

// kept is a worker with a saved field.
type kept struct {
	Sent int `json:"sent"`
}

// If saved fields no longer fit, the server does not start, and names the command that discards
// them.
func TestResetWorker(t *testing.T) {
	dir := filled(t, "a")
	for _, test := range []struct{ args, says string }{
		{"workers reset posts/digest", "posts/digest has no saved fields.\n"},
		{"workers reset posts/digger", "worker posts/digger does not exist; the workers are: posts/digest"},
	} {
		out, err := run(t, dir, strings.Fields(test.args)...)
		if err != nil {
			out = err.Error()
		}
		if out != test.says {
			t.Errorf("%s: got %s, want %v", test.args, out, test.says)
		}
	}
	before := posts()
	before.Workers = []app.Worker{app.WorkerOf("digest", func(context.Context) (*kept, error) { return &kept{7}, nil })}
	store, err := New("weather", before).create(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	a, err := New("weather", before).app(t.Context(), store, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WorkOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = New("weather", posts()).app(t.Context(), store, app.Options{})
	if err == nil || !strings.Contains(err.Error(), `field "sent" is unknown`) || !strings.HasSuffix(err.Error(), "weather workers reset posts/digest") {
		t.Errorf("got error %v, want %q in it, and %q at its end", err, `field "sent" is unknown`, "weather workers reset posts/digest")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "workers", "reset", "posts/digest"); out != "Discarded the saved fields of posts/digest: {\"sent\":7}\nIt continues after event 1.\n" {
		t.Errorf("got output %s, want %q", out, "Discarded the saved fields of posts/digest: {\"sent\":7}\nIt continues after event 1.\n")
	}
	_, end := serve(t, dir)
	end()
}

// untilAside runs an app until a worker has set n events aside.
func untilAside(t *testing.T, a *app.App, store eventlog.Store, many int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	moved := make(chan struct{}, 1)
	a.Watch(func() {
		select {
		case moved <- struct{}{}:
		default:
		}
	})
	running.Go(func() { a.Run(ctx) })
	for {
		all, err := app.NewAdmin(store, app.Options{}).Workers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && len(all[0].Aside) == many {
			return
		}
		select {
		case <-moved:
		case <-time.After(10 * time.Millisecond): // it may have moved before it was watched
		}
	}
}

// The failures of a worker are shown, with remedies.
func TestPrintWorkers(t *testing.T) {
	var out strings.Builder
	err := New("weather").printWorkers(&out, []shownWorker{
		{WorkerStatus: app.WorkerStatus{Name: "posts/digest", Position: 7, Behind: 3, Process: "host:12", Trying: 8, Tries: 2, Error: "no\nnetwork", Aside: []app.SetAside{{Seq: 5, Tries: 5, Error: "no such user"}}}},
		{WorkerStatus: app.WorkerStatus{Name: "posts/mail", Position: 10}},
		{WorkerStatus: app.WorkerStatus{Name: "posts/old", Process: "host:13", Aside: []app.SetAside{{Seq: 5, Tries: 5, Error: "no"}}}, Unknown: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `WORKER        POSITION  BEHIND  SET ASIDE  RUNS IN
posts/digest  7         3       1          host:12
posts/mail    10        0       0          -
posts/old     0         0       1          host:13  (not in this program: renamed or removed)
posts/digest fails on event 8 (2 tries so far): no; network
posts/digest has set event 5 aside after 5 tries: no such user
posts/old has set event 5 aside after 5 tries: no

Next:
  weather workers retry posts/digest --all
`
	if out.String() != want {
		t.Errorf("got output\n%s, want %v", out.String(), want)
	}
}
