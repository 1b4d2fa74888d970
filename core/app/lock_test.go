package app_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A caller that waits for states to be rebuilt may give up, and other processes do not wait.
func TestRebuildTakesLong(t *testing.T) {
	m := eventlog.NewMemory()
	hold, held := make(chan struct{}), make(chan struct{}, 1)
	slow := false
	f := items()
	f.State = app.StateOf(func() *State {
		if slow {
			held <- struct{}{}
			<-hold
		}
		return newState()
	})
	a := open(t, m.Share(), f)
	execute(t, a, Count{1})
	slow = true
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() { _, err := app.QueryRaw(t.Context(), a, Total{}); first <- err }()
	<-held
	within := func(what string, f func(context.Context) error) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- f(ctx) }()
		select {
		case err := <-ended:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: got %v, want context.DeadlineExceeded", what, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s does not give up", what)
		}
	}
	within("a query", func(ctx context.Context) error { _, err := app.QueryRaw(ctx, a, Total{}); return err })
	within("a command", func(ctx context.Context) error { _, err := app.DoRaw(ctx, a, Count{1}); return err })
	patient := make(chan error, 1)
	go func() { _, err := app.DoRaw(t.Context(), a, Count{1}); patient <- err }()
	other := open(t, m.Share())
	wrote := make(chan error, 1)
	go func() { _, err := app.DoRaw(t.Context(), other, Count{5}); wrote <- err }()
	select {
	case err := <-wrote:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("another process waits")
	}
	close(hold)
	for _, ended := range []chan error{first, patient} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if n := total(t, a); n != 6 {
		t.Errorf("the total is %d, want 6", n)
	}
}
