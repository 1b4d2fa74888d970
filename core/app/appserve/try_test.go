package appserve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
	"github.com/petrock/petrock/core/plumbing/terminal"
)

// A desk lends books.
type desk struct {
	Loans map[string]*loan
}

type loan struct {
	Member   string
	Due      time.Time
	Reminded time.Time
}

// A borrow lends a book for two weeks.
type borrow struct {
	Member string `json:"member"`
}

func (c borrow) Check(ctx context.Context, s *desk) error {
	if app.Actor(ctx) == "eve" {
		return errors.New("eve may not borrow")
	}
	return nil
}

func (c borrow) Apply(s *desk, e app.Event) string {
	s.Loans[e.ID] = &loan{Member: c.Member, Due: e.Time.Add(14 * 24 * time.Hour)}
	return e.Actor
}

type remind struct {
	ID string `json:"id"`
}

func (c remind) Check(context.Context, *desk) error { return nil }
func (c remind) Apply(s *desk, e app.Event) string {
	s.Loans[c.ID].Reminded = e.Time
	return s.Loans[c.ID].Member
}

// A dueSoon asks for the loans that are due within two days.
type dueSoon struct{}

func (dueSoon) Answer(ctx context.Context, s *desk) ([]string, error) {
	ids := []string{}
	for id, l := range s.Loans {
		if l.Reminded.IsZero() && l.Due.Sub(app.Now(ctx)) <= 48*time.Hour {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// A reminder reminds members two days before a book is due.
type reminder struct{}

func (*reminder) onBorrow(_ context.Context, c borrow, _ app.Event) error {
	if c.Member == "bad" {
		return errors.New("no such member")
	}
	return nil
}

func (*reminder) every(ctx context.Context) error {
	ids, err := app.Query(ctx, dueSoon{})
	for _, id := range ids {
		_, doErr := app.Do(ctx, remind{id})
		err = errors.Join(err, doErr)
	}
	return err
}

func lending() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "desk",
			State:    app.StateOf(func() *desk { return &desk{Loans: map[string]*loan{}} }),
			Commands: []app.CommandType{app.CommandTypeOf[borrow]("borrow", 1), app.CommandTypeOf[remind]("remind", 1)},
			Queries:  []app.QueryType{app.QueryTypeOf[dueSoon]("due_soon")},
			Workers: []app.Worker{app.WorkerOf("reminder", func(context.Context) (*reminder, error) { return &reminder{}, nil },
				app.On((*reminder).onBorrow), app.Every(time.Hour, (*reminder).every))},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return errors.Join(mcp.AddTool(s, mcp.Tool{Name: "desk_borrow"}, appmcp.Do[borrow](a)), mcp.AddTool(s, mcp.Tool{Name: "desk_due_soon"}, appmcp.Query[dueSoon](a)))
		},
	}
}

// newLending returns the data of a program with one more tool than the feature has.
func newLending() *Data {
	d := New("library", lending())
	d.SetOpen(func(ctx context.Context, log *slog.Logger, _ bool) (*mcp.Server, func() error, error) {
		server := mcp.NewServer(mcp.Implementation{Name: "library", Version: "1"}, mcp.Options{Logger: log})
		err := mcp.AddTool(server, mcp.Tool{Name: "when"}, func(ctx context.Context, _ struct{}) (string, error) {
			return app.Actor(ctx) + " at " + app.Now(ctx).Format(time.DateOnly), nil
		})
		end, openErr := d.Open(ctx, server, log)
		return server, end, errors.Join(err, openErr)
	})
	return d
}

// runTry runs try on the data in a folder.
func runTry(t *testing.T, dir, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command(newLending(), append([]string{"try", "--data", dir}, args...)...)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetOut(&out)
	cmd.SetErr(t.Output())
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// borrowed returns a folder with one loan, made by a server that still runs.
func borrowed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	d := newLending()
	d.dir = dir
	server := mcp.NewServer(mcp.Implementation{Name: "library", Version: "1"}, mcp.Options{})
	end, err := d.Open(t.Context(), server, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end() })
	if _, err := app.DoRaw(t.Context(), d.running, borrow{"m1"}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A scenario shows what happens in two weeks, and changes nothing.
func TestTry(t *testing.T) {
	dir := borrowed(t)
	before := must(t, dir, "log")
	out, err := runTry(t, dir, "", "advance 287h", "call desk_due_soon", "call desk_borrow member='m 2' --as local:bob", "advance 2h", "call desk_borrow {\"member\":\"m 3\"} --as=eve", "run desk/reminder", "call when --as eve")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	user := appmcp.Actor(t.Context())
	for _, want := range []string{
		"On a copy of 1 event from " + dir + ".",
		"\nadvance 287h  (",
		"  desk/reminder: position 1\n",
		"\ncall desk_due_soon {}  (",
		"\n  []\n",
		"  local:bob  desk/borrow  {\"member\":\"m 2\"}",
		"\n  \"local:bob\"\n",
		"  worker:desk/reminder  desk/remind  ",
		"\n  error: eve may not borrow\n",
		"\n  \"eve at " + time.Now().UTC().Add(289*time.Hour).Format("2006-01-"),
		"The copy is discarded.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("try prints\n%s\nwant %q in it (the user is %s)", out, want, user)
		}
	}
	if strings.Count(out, "desk/remind ") != 1 {
		t.Errorf("try prints\n%s\nwant one reminder", out)
	}
	if after := must(t, dir, "log"); after != before {
		t.Errorf("try changed the log from\n%s\nto\n%s", before, after)
	}
}

// With -, the steps are JSON. With --json, the results are.
func TestTryJSON(t *testing.T) {
	dir := borrowed(t)
	out, err := runTry(t, dir, `[{"call":"desk_borrow","arguments":{"member":"bad"},"actor":"ada"},{"run":"desk/reminder"},{"advance":"1h"}]`, "-", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var steps []triedStep
	if err := json.Unmarshal([]byte(out), &steps); err != nil || len(steps) != 3 {
		t.Fatalf("try --json prints %s: %v; want three steps", out, err)
	}
	if e := steps[0].Events; len(e) != 1 || e[0].Actor != "ada" || e[0].Seq != 2 || steps[0].Result == nil || steps[0].Workers != nil {
		t.Errorf("the call returned %+v, want event 2 of ada, and its result", steps[0])
	}
	want := app.WorkerFailure{Worker: "desk/reminder", Event: 2, Count: 1, Error: "no such member"}
	if f := steps[1].Failures; len(f) != 1 || f[0] != want || len(steps[1].Workers) != 1 || steps[1].Workers[0].Behind != 1 {
		t.Errorf("run returned %+v; want the failure %+v, and a worker that is one event behind", steps[1], want)
	}
	want.Count, want.Aside = 5, true
	if f := steps[2].Failures; len(f) != 1 || f[0] != want || len(steps[2].Workers[0].Aside) != 1 {
		t.Errorf("advance returned %+v; want %+v", steps[2], want)
	}
	text := describeFailure(want)
	if text != "desk/reminder failed 5 times on event 2, which is set aside: no such member" {
		t.Errorf("the failure is described as %q", text)
	}
}

// Without data, the copy is empty. Long results are shortened.
func TestTryLong(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	var steps []string
	for i := range 12 {
		steps = append(steps, fmt.Sprintf("call desk_borrow member=m%d", i))
	}
	steps = append(steps, "advance 400h", "run desk/reminder")
	out, err := runTry(t, dir, "", steps...)
	if err != nil || !strings.Contains(out, "On a copy of 0 events") || !strings.Contains(out, "  and 2 events: 2 desk/remind; --all prints them\n") {
		t.Errorf("%v\n%s\nwant an empty copy, and ten of twelve reminders", err, out)
	}
	if out, err := runTry(t, dir, "", append(steps, "--all")...); err != nil || strings.Count(out, "  desk/remind ") != 12 {
		t.Errorf("try --all: %v\n%s\nwant twelve reminders", err, out)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("try created the data folder")
	}
}

// Wrong steps are refused before the first one runs.
func TestTryWrong(t *testing.T) {
	for args, want := range map[string]string{
		"wait 3h":                            "a step begins with advance, run or call",
		"advance":                            "exactly one of advance",
		"advance 2 days":                     "is not a duration",
		"advance -3h":                        "is not a duration",
		"run desk/remnder":                   "worker desk/remnder does not exist; the workers are: desk/reminder",
		"call desk_lend member=m1":           "desk_lend",
		"call desk_borrow membr=m1":          "membr: is not a known property",
		"call desk_borrow":                   "invalid arguments",
		"call desk_borrow {":                 "not valid JSON",
		"call desk_borrow {} member=1":       "follows the JSON object",
		"call desk_borrow member='m1":        "is not closed",
		"call when --as worker:desk/digest":  "names that start with worker:",
		"call when --as=\"two words\"":       "without spaces",
		`- [{"advance":"1h","run":"x"}]`:     "step 1: a step has exactly one of",
		`- [{"advance":"1h","actor":"ada"}]`: "only call takes arguments and an actor",
		`- []`:                               "try requires a step",
		`- [{"walk":"1h"}]`:                  "must be a JSON array of steps",
	} {
		in, steps := "", []string{"call desk_borrow member=m1", args}
		if text, ok := strings.CutPrefix(args, "- "); ok {
			in, steps = text, []string{"-"}
		}
		out, err := runTry(t, t.TempDir(), in, steps...)
		if terminal.ExitCode(err) != terminal.ExitUsage || !strings.Contains(err.Error(), want) || strings.Contains(out, "m1") {
			t.Errorf("%s: got error %v, output %s; want exit code %d, %q, and no step that ran", args, err, out, terminal.ExitUsage, want)
		}
	}
}

// With --as, calls have another actor. Workers keep theirs.
func TestAs(t *testing.T) {
	dir := t.TempDir()
	d := newLending()
	d.dir, d.as = dir, "local:bob"
	server, end, err := d.openServer(t.Context(), slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	if result := mcptest.Connect(t, server).CallTool("desk_borrow", borrow{"m1"}); result.IsError {
		t.Fatal(result.Text())
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if out := must(t, dir, "log"); !strings.Contains(out, "  local:bob  ") {
		t.Errorf("the log is %s, want the actor local:bob", out)
	}
	d.as = "worker:desk/reminder"
	if _, _, err := d.openServer(t.Context(), slog.New(slog.DiscardHandler), false); terminal.ExitCode(err) != terminal.ExitUsage {
		t.Errorf("--as worker:… returned %v, want a usage error", err)
	}
}
