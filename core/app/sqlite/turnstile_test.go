package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
)

// A wait that is given up releases its locks, and its turnstile can be used again.
func TestGivenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	gate := func() *turnstile {
		g := new(newTurnstile(path))
		t.Cleanup(func() { g.close() })
		return g
	}
	inside, waiting, other := gate(), gate(), gate()
	for range 3 {
		if err := inside.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- waiting.enter(ctx) }()
		for { // until it has the turn
			if err := other.open(); err != nil {
				t.Fatal(err)
			}
			took, err := other.locker.lock(other.turn, false)
			if err != nil {
				t.Fatal(err)
			}
			if !took {
				break
			}
			other.close()
			runtime.Gosched()
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("it ends with %v", err)
		}
		next := make(chan error)
		go func() { next <- waiting.enter(t.Context()) }()
		if err := inside.leave(); err != nil {
			t.Fatal(err)
		}
		if err := <-next; err != nil {
			t.Fatal(err)
		}
		if err := waiting.leave(); err != nil {
			t.Fatal(err)
		}
		if err := other.enter(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := other.leave(); err != nil {
			t.Fatal(err)
		}
	}
}

// The error of a wait that takes too long names the process in the room, or the one with the turn
// if the room is free. A program that does not write its name is not confused with one that waits.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.db")
	s, holder := open(t, path), newTurnstile(path)
	s.patience = time.Millisecond
	if err := holder.open(); err != nil {
		t.Fatal(err)
	}
	defer holder.close()
	for _, test := range []struct {
		file *os.File
		note string
		want string
	}{
		{holder.room, "", "because another process (lsof " + path + ".lock shows which) holds the lock; end it"},
		{holder.room, "process 7 (hello) on moon", "because process 7 (hello) on moon holds the lock; end it"},
		{holder.turn, "process 8 (hello) on moon", "because process 8 (hello) on moon holds the lock; end it"},
	} {
		if _, err := holder.locker.lock(test.file, true); err != nil {
			t.Fatal(err)
		}
		if _, err := test.file.WriteAt(append([]byte(test.note), 0), noteAt); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(t.Context(), nil); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v", err)
		}
		if err := holder.locker.unlock(test.file); err != nil {
			t.Fatal(err)
		}
		s.patience = patience
		if err := s.Write(t.Context(), func(app.Tx) error { return nil }); err != nil {
			t.Error(err)
		}
		s.patience = time.Millisecond
	}
}
