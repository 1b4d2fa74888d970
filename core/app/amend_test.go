package app_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// The last amendment of an event counts, even if the clock was set back since the one before.
func TestAmendedTwice(t *testing.T) {
	m := eventlog.NewMemory()
	running := open(t, m.Share())
	execute(t, running, Count{1})
	now := time.Now()
	for i, at := range []time.Time{now, now.Add(-time.Hour), now} {
		am := app.Amendment{Seq: 1, Type: "items/count", Data: []byte([]string{`{"by":5}`, `{"by":6}`, `{"by":7}`}[i]), Reason: "a test", Time: at}
		if err := amend(t.Context(), m.Share(), am); err != nil {
			t.Fatal(err)
		}
		if n := total(t, running); n != 5+i {
			t.Errorf("after amendment %d a process that runs has %d, want %v", i, n, 5+i)
		}
		a, err := app.Open(t.Context(), m.Share(), quiet(), items())
		if err != nil {
			t.Fatal(err)
		}
		if n := total(t, a); n != 5+i {
			t.Errorf("after amendment %d there is %d, want %v", i, n, 5+i)
		}
	}
}

// A locked store reports whether the log is read during a Write.
type lockedStore struct {
	*eventlog.Memory
	read *int
}

func (s lockedStore) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return s.Memory.Write(ctx, func(tx eventlog.Tx) error { return f(lockedTx{tx, s.read}) })
}

type lockedTx struct {
	eventlog.Tx
	read *int
}

func (tx lockedTx) Records(after int64) iter.Seq2[eventlog.Record, error] {
	return func(yield func(eventlog.Record, error) bool) {
		for r, err := range tx.Tx.Records(after) {
			*tx.read++
			if !yield(r, err) {
				return
			}
		}
	}
}

// States are not rebuilt during a Write, for which all other processes would wait.
func TestAmendedWhileWriting(t *testing.T) {
	m, read := eventlog.NewMemory(), 0
	a := open(t, lockedStore{m.Share(), &read})
	for range 50 {
		execute(t, a, Count{1})
	}
	if err := amend(t.Context(), m.Share(), app.Amendment{Seq: 1, Skip: true, Reason: "a test"}); err != nil {
		t.Fatal(err)
	}
	read = 0
	if got := execute(t, a, Count{1}); got != "50" || read > 10 {
		t.Errorf("the result is %s, and %d events were read within the write; want 50, and at most 10", got, read)
	}
}
