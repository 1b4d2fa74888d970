package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/petrock/petrock/core/strictjson"
)

// A SnapshotCheck is the result of comparing the snapshot of a feature with the log.
type SnapshotCheck struct {
	Feature string         `json:"feature"`
	Seq     int64          `json:"seq,omitempty"` // the event after which it was taken
	Result  SnapshotResult `json:"result"`
	Detail  string         `json:"detail,omitempty"`
}

// A SnapshotResult says whether a snapshot is right.
type SnapshotResult string

const (
	SnapshotMatches SnapshotResult = "matches" // the log leads to the same state
	SnapshotDiffers SnapshotResult = "differs" // the log leads to another state
	SnapshotDamaged SnapshotResult = "damaged" // it cannot be read, and so no start uses it
	SnapshotUnused  SnapshotResult = "unused"  // events before it were amended since, and so no start uses it
	SnapshotNone    SnapshotResult = "none"    // this build has taken none
)

// Replay is [Open] without snapshots. It compares the snapshots that this build has taken with the
// states to which the log leads, one for each feature.
func Replay(ctx context.Context, store Store, o Options, features ...Feature) (*App, []SnapshotCheck, error) {
	o.NoSnapshot = true
	s := &limited{Store: store}
	a, err := newApp(s, o, features...)
	if err != nil {
		return nil, nil, err
	}
	if a.amendments, err = readAmendments(reading{ctx, store}); err != nil {
		return nil, nil, err
	}
	checks, texts := make([]SnapshotCheck, len(a.features)), make([][]byte, len(a.features))
	var present []int // features that have a snapshot
	for i, f := range a.features {
		if checks[i], texts[i] = a.snapshotToCheck(ctx, f); texts[i] != nil {
			present = append(present, i)
		}
	}
	slices.SortFunc(present, func(i, j int) int { return cmp.Compare(checks[i].Seq, checks[j].Seq) })
	for _, i := range present {
		s.limit = checks[i].Seq
		if err := a.catchUp(ctx); err != nil {
			return nil, nil, err
		}
		state, err := strictjson.Marshal(a.features[i].state)
		if err != nil {
			return nil, nil, fmt.Errorf("encoding the state of %s: %w", checks[i].Feature, err)
		}
		if checks[i].Result = SnapshotMatches; !bytes.Equal(state, texts[i]) {
			checks[i].Result = SnapshotDiffers
		}
		texts[i] = nil
	}
	s.limit = 0
	if err := a.open(ctx); err != nil {
		return nil, nil, err
	}
	return a, checks, nil
}

// snapshotToCheck is the snapshot of a feature: its state as JSON, or the result if there is
// nothing to compare.
func (a *App) snapshotToCheck(ctx context.Context, f *feature) (SnapshotCheck, []byte) {
	check := SnapshotCheck{Feature: f.Name, Result: SnapshotNone}
	if a.fingerprint() == "" {
		return check, nil
	}
	head, text, err := a.storedSnapshot(reading{ctx, a.store}, f)
	check.Seq = head.Seq
	switch {
	case errors.Is(err, errUnused):
		check.Result = SnapshotUnused
	case err != nil:
		check.Result, check.Detail = SnapshotDamaged, err.Error()
	}
	return check, text
}

// A limited store ends with an event, if limit is not 0.
type limited struct {
	Store
	limit int64
}

func (s *limited) Records(ctx context.Context, after int64) iter.Seq2[Record, error] {
	if s.limit == 0 {
		return s.Store.Records(ctx, after)
	}
	return func(yield func(Record, error) bool) {
		if after >= s.limit {
			return
		}
		for r, err := range s.Store.Records(ctx, after) {
			if !yield(r, err) || r.Seq == s.limit {
				return
			}
		}
	}
}

// Stamp differs for each limit.
func (s *limited) Stamp(ctx context.Context) (int64, error) {
	if s.limit != 0 {
		return -s.limit, nil
	}
	return s.Store.Stamp(ctx)
}
