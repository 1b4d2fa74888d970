package app_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app"
	"github.com/petrock/petrock/core/app/eventlog"
)

// A distant store takes a while to commit, like a database on another machine.
type distant struct {
	*eventlog.Memory
	commits int
}

func (s *distant) Write(ctx context.Context, f func(eventlog.Tx) error) error {
	return s.Memory.Write(ctx, func(tx eventlog.Tx) error {
		err := f(tx)
		s.commits++
		time.Sleep(time.Millisecond)
		return err
	})
}

// BenchmarkCallers shows how many of the commands of 64 callers share a commit.
func BenchmarkCallers(b *testing.B) {
	const callers, each = 64, 32
	s := &distant{Memory: eventlog.NewMemory()}
	a := open(b, s)
	for b.Loop() {
		var group sync.WaitGroup
		for range callers {
			group.Go(func() {
				for range each {
					if _, err := app.DoRaw(b.Context(), a, Count{1}); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
	}
	b.ReportMetric(callers*each*float64(b.N)/float64(s.commits), "commands/commit")
}
