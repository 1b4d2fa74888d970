package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Sparse leaves its map out of the JSON when it is empty.
type Sparse struct {
	Marks map[string]bool `json:"marks,omitempty"`
}

// Mark adds or removes a mark.
type Mark struct {
	Word string `json:"word"`
	Off  bool   `json:"off"`
}

func (c Mark) Check(context.Context, *Sparse) error { return nil }
func (c Mark) Apply(s *Sparse, _ app.Event) int {
	if s.Marks[c.Word] = true; c.Off {
		delete(s.Marks, c.Word)
	}
	return len(s.Marks)
}

// A state from a snapshot works as a replayed one does: a map that was left out would be nil.
func TestMapLeftOut(t *testing.T) {
	m := eventlog.NewMemory()
	f := app.Feature{Name: "marks", State: app.StateOf(func() *Sparse { return &Sparse{map[string]bool{}} }), Commands: []app.CommandType{app.CommandTypeOf[Mark]("mark", 1)}}
	a := open(t, m.Share(), f)
	execute(t, a, Mark{Word: "a", Off: true})
	if err := a.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := open(t, m.Share(), f)
	execute(t, again, Mark{Word: "b"})
	status, err := again.Status(t.Context())
	if err != nil || !strings.Contains(status.Features[0].Unkept, "Sparse.Marks") {
		t.Errorf("%+v, %v, want \"Sparse.Marks\" in it", status, err)
	}
}

// Odd is a state whose encoding may panic.
type Odd struct{ broken *bool }

func (o Odd) MarshalJSON() ([]byte, error) {
	if *o.broken {
		panic("no JSON")
	}
	return []byte("{}"), nil
}

type poke struct{}

func (poke) Check(context.Context, *Odd) error     { return nil }
func (poke) Apply(*Odd, app.Event) json.RawMessage { return json.RawMessage("1") }

// A state whose encoding panics has no snapshot, and causes no other failure.
func TestSnapshotPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := true
		f := app.Feature{Name: "odd", State: app.StateOf(func() *Odd { return &Odd{&broken} }), Commands: []app.CommandType{app.CommandTypeOf[poke]("poke", 1)}}
		a := open(t, eventlog.NewMemory(), f)
		execute(t, a, poke{})
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("panic: %v, want nil", p)
				}
			}()
			if err := a.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "no JSON") {
				t.Errorf("got error %v, want \"no JSON\" in it", err)
			}
		}()
		execute(t, a, poke{})
	})
}
