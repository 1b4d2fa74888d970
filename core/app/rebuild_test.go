package app_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A breaking store fails during a read, on request.
type breaking struct {
	*eventlog.Memory
	after func(read int) error // may be nil
}

func (b *breaking) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		read := 0
		for r, err := range b.Memory.Records(ctx, after) {
			if b.after != nil && err == nil {
				err = b.after(read)
			}
			if read++; !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// States that were not rebuilt to the end are not shown, and the next caller finishes rebuilding
// them.
func TestRebuildBreaksOff(t *testing.T) {
	s := &breaking{Memory: eventlog.NewMemory()}
	a := open(t, s)
	for range 10 {
		execute(t, a, Count{1})
	}
	if _, err := app.DoRaw(t.Context(), a, Break{How: "apply"}); err == nil {
		t.Fatal("Break{How: apply} returned no error, want one")
	}
	s.after = func(read int) error {
		if read == 4 {
			return errors.New("the disk is away")
		}
		return nil
	}
	if _, err := app.QueryRaw(t.Context(), a, Total{}); err == nil || !strings.Contains(err.Error(), "the disk is away") {
		t.Fatalf("got error %v, want \"the disk is away\" in it", err)
	}
	s.after = nil
	if n := total(t, a); n != 10 {
		t.Errorf("a query sees %d, want 10", n)
	}
}

// Tagged has a list that later commands change in place.
type Tagged struct {
	Tags []int `json:"tags"`
}

// Tag adds a list to the state.
type Tag struct {
	Tags []int `json:"tags"`
}

func (c Tag) Check(context.Context, *Tagged) error { return nil }
func (c Tag) Apply(s *Tagged, _ app.Event) []int   { s.Tags = c.Tags; return s.Tags }

// Raise raises the first element of the list, and panics on request.
type Raise struct {
	Break bool `json:"break"`
}

func (c Raise) Check(context.Context, *Tagged) error { return nil }
func (c Raise) Apply(s *Tagged, _ app.Event) int {
	s.Tags[0]++
	if c.Break {
		panic("it breaks")
	}
	return s.Tags[0]
}

func tags() app.Feature {
	return app.Feature{
		Name:     "tags",
		State:    app.StateOf(func() *Tagged { return &Tagged{} }),
		Commands: []app.CommandType{app.CommandTypeOf[Tag]("tag", 1), app.CommandTypeOf[Raise]("raise", 1)},
	}
}

// A command that is retried, because a later one in its batch broke the states, is logged
// unchanged.
func TestExecutedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		a := open(t, m.Share(), tags())
		hold := make(chan struct{})
		go m.Write(t.Context(), func(eventlog.Tx) error { <-hold; return nil })
		synctest.Wait()
		errs := make(chan error, 2)
		for _, c := range []app.Commander[Tagged, int]{Raise{}, Raise{Break: true}} {
			if c == (Raise{}) {
				go func() { _, err := app.DoRaw(t.Context(), a, Tag{[]int{1, 2}}); errs <- err }()
				synctest.Wait()
			}
			go app.DoRaw(t.Context(), a, c)
			synctest.Wait()
		}
		close(hold)
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if live, again := dump(t, a), dump(t, open(t, m.Share(), tags())); live != again {
			t.Errorf("state is %s, and %s after replay, want them equal", live, again)
		}
	})
}

// If a state cannot be built, no caller waits forever.
func TestStateCannotBeMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := eventlog.NewMemory()
		broken := false
		f := items()
		f.State = app.StateOf(func() *State {
			if broken {
				panic("no state")
			}
			return newState()
		})
		a := open(t, m.Share(), f)
		execute(t, a, Count{1})
		other := m.Share()
		broken = true
		if err := amend(t.Context(), other, app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			ended := make(chan error, 1)
			go func() {
				defer func() {
					if p := recover(); p != nil {
						ended <- errors.New("it panics")
					}
				}()
				_, err := app.DoRaw(t.Context(), a, Count{1})
				ended <- err
			}()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "no state") {
					t.Fatalf("got error %v, want \"no state\" in it", err)
				}
			case <-time.After(time.Hour):
				t.Fatal("a caller waits forever")
			}
		}
		broken = false
		execute(t, a, Count{1})
		if n := total(t, a); n != 1 {
			t.Errorf("total is %d, want 1", n)
		}
	})
}
