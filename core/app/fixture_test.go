package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// State is a state of items.
type State struct {
	Items map[string]*Item `json:"items"`
	Total int              `json:"total"`
	Order []string         `json:"order"`
}

// An Item is an item.
type Item struct {
	ID   string    `json:"id"`
	Name string    `json:"name"`
	Made time.Time `json:"made"`
	Seq  int64     `json:"seq"`
}

func newState() *State { return &State{Items: map[string]*Item{}} }

// Add adds an item with a new name.
type Add struct {
	Name string `json:"name"`
	Key  string `json:"key,omitempty"`

	unsaid string // is never in the log, and so Apply never sees it
}

func (c Add) IdempotencyKey() string { return c.Key }

func (c Add) Check(_ context.Context, s *State) error {
	for _, item := range s.Items {
		if item.Name == c.Name {
			return fmt.Errorf("there is an item %q", c.Name)
		}
	}
	return nil
}

func (c Add) Apply(s *State, e app.Event) *Item {
	item := &Item{ID: e.ID, Name: c.Name + c.unsaid, Made: e.Time, Seq: e.Seq}
	s.Items[e.ID] = item
	s.Order = append(s.Order, e.ID)
	return item
}

// Count adds to the total, which shows lost updates.
type Count struct {
	By int `json:"by"`
}

func (c Count) Check(context.Context, *State) error { return nil }
func (c Count) Apply(s *State, _ app.Event) int     { s.Total += c.By; return s.Total }

// Break fails in the given way, after it has changed something.
type Break struct {
	How string `json:"how"`
}

func (c Break) Check(_ context.Context, s *State) error {
	if c.How == "check" {
		s.Total = -1
		panic("in the check")
	}
	return nil
}

func (c Break) Apply(s *State, _ app.Event) any {
	s.Total = -2
	s.Items = nil
	switch c.How {
	case "apply":
		panic("in apply")
	case "encode":
		return math.NaN()
	}
	return "done"
}

// Total asks for the total.
type Total struct{}

func (Total) Answer(_ context.Context, s *State) (int, error) { return s.Total, nil }

// Get asks for an item.
type Get struct {
	Name string
}

func (q Get) Answer(ctx context.Context, s *State) (*Item, error) {
	if _, err := app.Query(ctx, Total{}); err != nil { // a query within a query
		return nil, err
	}
	for _, item := range s.Items {
		if item.Name == q.Name {
			return item, nil
		}
	}
	return nil, fmt.Errorf("there is no item %q", q.Name)
}

func items() app.Feature {
	return app.Feature{
		Name:     "items",
		State:    app.StateOf(newState),
		Commands: []app.CommandType{app.CommandTypeOf[Add]("add", 1), app.CommandTypeOf[Count]("count", 1), app.CommandTypeOf[Break]("break", 1)},
		Queries:  []app.QueryType{app.QueryTypeOf[Total]("total"), app.QueryTypeOf[Get]("get")},
	}
}

func quiet() app.Options {
	return app.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Program: "hello", Fingerprint: func(string) string { return "same" }}
}

func open(t testing.TB, s eventlog.Store, features ...app.Feature) *app.App {
	t.Helper()
	if len(features) == 0 {
		features = []app.Feature{items()}
	}
	a, err := app.Open(t.Context(), s, quiet(), features...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func execute[S, Out any](t testing.TB, a *app.App, c app.Commander[S, Out]) string {
	t.Helper()
	result, err := app.DoRaw(t.Context(), a, c)
	if err != nil {
		t.Fatalf("%+v: %v, want no error", c, err)
	}
	return string(result)
}

func total(t testing.TB, a *app.App) int {
	t.Helper()
	n, err := app.Query(app.With(t.Context(), a), Total{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func dump(t testing.TB, a *app.App) string {
	t.Helper()
	states, err := a.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(states)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func last(t testing.TB, s eventlog.Store) int64 {
	t.Helper()
	n, err := s.Last(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// replayed returns the state after a replay of the whole log.
func replayed(t testing.TB, m *eventlog.Memory) string {
	t.Helper()
	o := quiet()
	o.NoSnapshot = true
	a, err := app.Open(t.Context(), m.Share(), o, items())
	if err != nil {
		t.Fatal(err)
	}
	return dump(t, a)
}

// A faulty store fails on request.
type faulty struct {
	*eventlog.Memory
	fail  error  // of the next commit, which then is not done
	after error  // of the next commit, which still takes place
	hold  func() // before the next commit
}

func (f *faulty) Write(ctx context.Context, do func(eventlog.Tx) error) error {
	err := f.Memory.Write(ctx, func(tx eventlog.Tx) error {
		if err := do(tx); err != nil {
			return err
		}
		if f.hold != nil {
			f.hold()
		}
		return f.fail
	})
	f.fail = nil
	return errors.Join(err, f.after)
}

// amend records an amendment of one event.
func amend(ctx context.Context, s eventlog.Store, am app.Amendment) error {
	_, err := app.NewAdmin(s, app.Options{}).Amend(ctx, am.Edit())
	return err
}

// erase erases one event.
func erase(ctx context.Context, s eventlog.Store, seq int64, reason string) error {
	_, err := app.NewAdmin(s, app.Options{}).Erase(ctx, app.Erasure{First: seq, Last: seq, Reason: reason})
	return err
}
