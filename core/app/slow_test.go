package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
)

// wide is a state to which an event adds much.
type wide struct{ Words []string }

type widen struct{}

func (widen) Check(context.Context, *wide) error { return nil }
func (widen) Apply(s *wide, _ Event) int {
	s.Words = append(s.Words, make([]string, 10_000)...)
	return len(s.Words)
}

// If a replay takes less time than to encode the states, there is no snapshot, which is noted.
func TestSlowSnapshot(t *testing.T) {
	for _, test := range []struct {
		name      string
		eventCost time.Duration
		want      int64 // event in the snapshot
	}{
		{"events take little time", 1, 0},
		{"events take long", time.Hour, 1},
		{"unknown", 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := eventlog.NewMemory()
			o := Options{Logger: slog.New(slog.DiscardHandler), Fingerprint: func(string) string { return "same" }}
			f := Feature{Name: "wide", State: StateOf(func() *wide { return &wide{} }), Commands: []CommandType{CommandTypeOf[widen]("widen", 1)}}
			a, err := Open(t.Context(), m.Share(), o, f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DoRaw(t.Context(), a, widen{}); err != nil {
				t.Fatal(err)
			}
			a.eventCost = test.eventCost
			if err := a.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			if a.features[0].tried != 1 || a.features[0].snapshot != test.want || a.features[0].locked == 0 {
				t.Errorf("got %+v, want one try, a snapshot of event %d, and a time under lock", a.features[0], test.want)
			}
			again, err := Open(t.Context(), m.Share(), o, f)
			if err != nil || again.features[0].from != test.want {
				t.Errorf("starts from event %d, want %d; %v", again.features[0].from, test.want, err)
			}
			names, err := m.Names(t.Context(), snapshotsPrefix)
			if hasChunks := len(names) > 1; err != nil || hasChunks != (test.want > 0) {
				t.Errorf("got documents %v, %v, want hasChunks = %v", names, err, test.want > 0)
			}
		})
	}
}
