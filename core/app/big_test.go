package app_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// Seen is a state that reports changes.
type Seen struct{ look func() }

// Big is a command with much data.
type Big struct {
	Text string `json:"text"`
}

func (Big) Check(context.Context, *Seen) error  { return nil }
func (Big) Apply(s *Seen, _ app.Event) struct{} { s.look(); return struct{}{} }

// Slow is a worker that does not finish.
type Slow struct{}

func (*Slow) OnBig(ctx context.Context, _ Big, _ app.Event) error { <-ctx.Done(); return ctx.Err() }

// Many big events are not all read before the first one is handled, neither by replay nor by a
// worker.
func TestBigEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := func(look func()) app.Feature {
			return app.Feature{
				Name:     "seen",
				State:    app.StateOf(func() *Seen { return &Seen{look} }),
				Commands: []app.CommandType{app.CommandTypeOf[Big]("big", 1)},
				Workers:  []app.Worker{app.WorkerOf("slow", func(context.Context) (*Slow, error) { return &Slow{}, nil }, app.On((*Slow).OnBig))},
			}
		}
		m := eventlog.NewMemory()
		a := open(t, m.Share(), seen(func() {}))
		for range 60 {
			execute(t, a, Big{strings.Repeat("x", 300_000)})
		}
		s := &counting{Memory: m.Share()}
		ahead := 0
		b := open(t, s, seen(func() {
			if ahead == 0 {
				synctest.Wait()
				ahead = s.read
			}
		}))
		if ahead > 50 {
			t.Errorf("%d events are read before the first is applied, want at most 50", ahead)
		}
		s.read = 0
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.Run(ctx) }()
		synctest.Wait()
		if s.read > 20 {
			t.Errorf("%d events are read before the first is worked on, want at most 20", s.read)
		}
		cancel()
		<-done
	})
}
