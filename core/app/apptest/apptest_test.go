package apptest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/appmcp"
	"github.com/petrock/petrock/core/app/apptest"
	"github.com/petrock/petrock/core/auth"
	"github.com/petrock/petrock/core/mcp"
	"github.com/petrock/petrock/core/mcptest"
)

type state struct {
	Sum, Doubled int
	Items        []*item
	Last         *item // wrong in a state: it is one of the items, until a snapshot makes another of it
	Lossy        lossy
}

// lossy changes in a snapshot.
type lossy int

func (l *lossy) UnmarshalJSON(text []byte) error {
	if string(text) != "0" {
		*l = 99
	}
	return nil
}

type item struct{ N int }

// add adds a number. Its mistakes are for the test to find.
type add struct {
	N      int  `json:"n"`
	Random bool `json:"random,omitempty"` // goes by something outside
	Shared bool `json:"shared,omitempty"` // goes by what is one thing in memory and two in a snapshot
	Lossy  int  `json:"lossy,omitempty"`  // is not in a snapshot
}

func (c add) Check(context.Context, *state) error {
	if c.N < 0 {
		return errors.New("n is negative")
	}
	return nil
}

func (c add) Apply(s *state, _ app.Event) int {
	s.Sum += c.N
	s.Lossy = lossy(c.Lossy)
	if c.Random {
		outside++
		s.Sum += outside
	}
	if c.Shared {
		s.Last.N++
		return s.Sum
	}
	s.Last = &item{c.N}
	s.Items = append(s.Items, s.Last)
	return s.Sum
}

// outside is a variable that a state must not depend on.
var outside int

// double adds each number once more.
type double struct {
	Added map[int64]bool
}

func (w *double) onAdd(ctx context.Context, c add, e app.Event) error {
	if w.Added == nil {
		w.Added = map[int64]bool{}
	}
	w.Added[e.Seq] = true
	if c.N == 13 {
		return errors.New("13 brings no luck")
	}
	_, err := app.Do(ctx, doubled{c.N})
	return err
}

type doubled struct {
	N int `json:"n"`
}

func (doubled) Check(context.Context, *state) error { return nil }

func (c doubled) Apply(s *state, _ app.Event) int {
	s.Doubled += c.N
	return s.Doubled
}

type sum struct{}

func (sum) Answer(_ context.Context, s *state) (string, error) {
	return fmt.Sprintf("%d and %d", s.Sum, s.Doubled), nil
}

func sums() appmcp.Feature {
	return appmcp.Feature{
		Feature: app.Feature{
			Name:     "sums",
			State:    app.StateOf(func() *state { return &state{} }),
			Commands: []app.CommandType{app.CommandTypeOf[add]("add", 1), app.CommandTypeOf[doubled]("doubled", 1)},
			Queries:  []app.QueryType{app.QueryTypeOf[sum]("sum")},
			Workers: []app.Worker{app.WorkerOf("double", func(context.Context) (*double, error) { return &double{}, nil },
				app.On((*double).onAdd))},
		},
		Register: func(s *mcp.Server, a *app.App) error {
			return errors.Join(
				mcp.AddTool(s, mcp.Tool{Name: "sums_add"}, appmcp.Do[add](a)),
				mcp.AddTool(s, mcp.Tool{Name: "sums_sum"}, appmcp.Query[sum](a)),
			)
		},
	}
}

type noState struct{}

// report asks another feature.
type report struct{ Last string }

func (w *report) every(ctx context.Context) (err error) {
	if _, err = app.Do(ctx, add{N: 1}); err == nil {
		w.Last, err = app.Query(ctx, sum{})
	}
	return err
}

// Features that a feature uses are served too, without their tools and workers.
func TestServeUsedFeatures(t *testing.T) {
	between := app.Feature{Name: "between", State: app.StateOf(func() *struct{} { return &struct{}{} }), Uses: []app.Feature{sums().Feature}}
	client := apptest.Serve(t, appmcp.Feature{
		Feature: app.Feature{
			Name:    "reports",
			State:   app.StateOf(func() *noState { return &noState{} }),
			Workers: []app.Worker{app.WorkerOf("report", func(context.Context) (*report, error) { return &report{}, nil }, app.Every(time.Hour, (*report).every))},
			Uses:    []app.Feature{between},
		},
		Register: func(*mcp.Server, *app.App) error { return nil },
	})
	client.Work(t.Context())
	if got, err := client.App.Dump(t.Context()); err != nil || !strings.Contains(string(got["sums"]), `"Sum":1,"Doubled":0`) {
		t.Errorf("the states are %s (%v), want %q in it", got, err, `"Sum":1,"Doubled":0`)
	}
	if tools := client.Tools(); len(tools) > 0 {
		t.Errorf("the tools are %v, want none", tools)
	}
}

func TestServe(t *testing.T) {
	client := apptest.Serve(t, sums())
	client.Given("sums_add", `{"n":2}`)
	client.Given("sums_add", add{N: 3})
	if got := client.CallTool("sums_sum", nil).Text(); got != "5 and 0" {
		t.Errorf("the sums are %s, want \"5 and 0\"", got)
	}
	client.Work(t.Context())
	client.Work(t.Context())
	if got := client.CallTool("sums_sum", nil).Text(); got != "5 and 5" {
		t.Errorf("the sums are %s, want \"5 and 5\"", got)
	}
	var times []string
	for record, err := range client.Store.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		times = append(times, record.ID+" "+record.Time.Format("15:04:05"))
		if !record.Time.Equal(apptest.Time(record.Seq)) {
			t.Errorf("event %d has the time %v, want %v", record.Seq, record.Time, apptest.Time(record.Seq))
		}
	}
	if got := strings.Join(times, ", "); got != "id1 00:00:00, id2 00:00:01, id3 00:00:02, id4 00:00:03" {
		t.Errorf("the log has %s, want %q", got, "id1 00:00:00, id2 00:00:01, id3 00:00:02, id4 00:00:03")
	}
}

// A feature can be served without a feature that its workers follow.
func TestServeOneOfTwo(t *testing.T) {
	type other struct{}
	alone := sums()
	alone.Workers = append(alone.Workers, app.WorkerOf("follows", func(context.Context) (*other, error) { return &other{}, nil },
		app.On(func(*other, context.Context, other, app.Event) error { return errors.New("there is none") })))
	client := apptest.Serve(t, alone)
	client.Given("sums_add", `{"n":2}`)
	client.Work(t.Context())
}

// A failing is a test that records why it fails.
type failing struct {
	testing.TB
	why     []string
	cleanup []func()
}

func (f *failing) Errorf(format string, args ...any) {
	f.why = append(f.why, fmt.Sprintf(format, args...))
}

func (f *failing) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

func (f *failing) Cleanup(c func()) { f.cleanup = append(f.cleanup, c) }

// why runs a test to its end, cleanups too, and returns why it failed.
func why(t *testing.T, test func(testing.TB)) string {
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			for i := range f.cleanup {
				f.cleanup[len(f.cleanup)-1-i]()
			}
		}()
		test(f)
	}()
	<-done
	return strings.Join(f.why, "\n")
}

func TestFails(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(c *apptest.Client)
		want string // is in the reason; empty if there is to be none
	}{
		{"nothing happens", func(*apptest.Client) {}, ""},
		{"a command refuses", func(c *apptest.Client) { c.Given("sums_add", `{"n":-1}`) }, "n is negative"},
		{"a worker fails", func(c *apptest.Client) { c.Given("sums_add", `{"n":13}`); c.Work(context.Background()) }, "13 brings no luck"},
		{"apply goes by something outside", func(c *apptest.Client) { c.Given("sums_add", `{"n":1,"random":true}`) }, "the state of sums differs after replay:"},
		{"apply changes what is there twice", func(c *apptest.Client) {
			c.Given("sums_add", `{"n":1}`)
			c.Given("sums_add", `{"n":1,"shared":true}`)
		}, "from a snapshot"},
		{"a snapshot loses something", func(c *apptest.Client) { c.Given("sums_add", `{"n":1,"lossy":3}`) },
			"a snapshot would change the state: feature sums: the state changes when it is encoded and decoded"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := why(t, func(tb testing.TB) { test.do(apptest.Serve(tb, sums())) })
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("failed with %q, want %q in it", got, test.want)
			}
		})
	}
}

// Calls have the actor of their client, and workers have their own.
func TestActors(t *testing.T) {
	client := apptest.Serve(t, sums())
	client.Given("sums_add", add{N: 1})
	ada := client.As(&auth.Identity{Subject: "ada"})
	ada.CallTool("sums_add", add{N: 2})
	client.Work(t.Context())
	var actors []string
	for r, err := range client.Store.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		actors = append(actors, r.Actor)
	}
	if got := strings.Join(actors, " "); got != apptest.Actor+" ada worker:sums/double worker:sums/double" {
		t.Errorf("the actors are %s, want %v", got, apptest.Actor+" ada worker:sums/double worker:sums/double")
	}
}

// The example passes.
func TestExample(t *testing.T) { testSign(t) }

// Tests can call commands and queries that are not tools.
func TestInternal(t *testing.T) {
	feature := sums()
	feature.Internal = func(s *mcp.Server, a *app.App) error {
		return mcp.AddTool(s, mcp.Tool{Name: "sums_increase"}, appmcp.Do[add](a))
	}
	client := apptest.Serve(t, feature)
	client.Given("sums_increase", add{N: 3})
	client.CheckTool(t, "sums_increase", mcptest.Example{Input: `{"n":4}`, Output: mcptest.AnyOutput{}})
	if got, want := client.CallTool("sums_sum", nil).Text(), "7 and 0"; got != want {
		t.Errorf("the sums are %s, want %q", got, want)
	}
	for _, tool := range client.Tools() {
		if tool.Name == "sums_increase" {
			t.Error("the server has the tool sums_increase, want it for tests only")
		}
	}
}
