package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/app/internal/statestream"
)

// A SnapshotCheck is the result of comparing the snapshot of a feature with the log.
type SnapshotCheck struct {
	Feature string         `json:"feature"`
	Seq     int64          `json:"seq,omitempty"` // last event in the snapshot
	Result  SnapshotResult `json:"result"`
	Detail  string         `json:"detail,omitempty"`
}

// A SnapshotResult is the result of comparing a snapshot.
type SnapshotResult string

const (
	SnapshotMatches SnapshotResult = "matches" // replay leads to the same state
	SnapshotDiffers SnapshotResult = "differs" // replay leads to a different state
	SnapshotDamaged SnapshotResult = "damaged" // not readable, and not used
	SnapshotUnused  SnapshotResult = "unused"  // earlier events were amended since
	SnapshotNone    SnapshotResult = "none"    // this code has not taken a snapshot
)

// Replay opens an app without using snapshots. It compares the snapshot of each feature that the
// same code has taken with the state after replay.
func (a *Admin) Replay(ctx context.Context) (*App, []SnapshotCheck, error) {
	o := a.o
	o.NoSnapshot = true
	s := &limitedStore{Store: a.store}
	replayed, err := newApp(s, o, a.features...)
	if err != nil {
		return nil, nil, err
	}
	if replayed.amendments, err = amendments.ReadIndex(storeReader{ctx, a.store}); err != nil {
		return nil, nil, err
	}
	checks, heads := make([]SnapshotCheck, len(replayed.features)), map[int]snapshotHead{}
	for i, f := range replayed.features {
		checks[i] = replayed.findSnapshot(ctx, f, func(head snapshotHead) { heads[i] = head })
	}
	bySeq := slices.SortedFunc(maps.Keys(heads), func(i, j int) int { return cmp.Compare(heads[i].Seq, heads[j].Seq) })
	for _, i := range bySeq {
		s.limit = heads[i].Seq
		if err := replayed.catchUp(ctx); err != nil {
			return nil, nil, err
		}
		err := replayed.compareSnapshot(ctx, replayed.features[i], heads[i])
		switch {
		case err == nil:
			checks[i].Result = SnapshotMatches
		case errors.Is(err, errDiffers):
			checks[i].Result = SnapshotDiffers
		default:
			checks[i].Result, checks[i].Detail = SnapshotDamaged, err.Error()
		}
	}
	s.limit = 0
	if err := replayed.open(ctx); err != nil {
		return nil, nil, err
	}
	return replayed, checks, nil
}

// findSnapshot calls found with the head of the snapshot of a feature. If there is no usable
// snapshot, it does not call found, and the returned check is complete.
func (a *App) findSnapshot(ctx context.Context, f *feature, found func(snapshotHead)) SnapshotCheck {
	check := SnapshotCheck{Feature: f.Name, Result: SnapshotNone}
	if a.fingerprint(f) == "" {
		return check
	}
	head, ok, err := a.storedSnapshot(storeReader{ctx, a.store}, f)
	check.Seq = head.Seq
	switch {
	case errors.Is(err, errUnused):
		check.Result = SnapshotUnused
	case err != nil:
		check.Result, check.Detail = SnapshotDamaged, err.Error()
	case ok && !head.Slow:
		found(head)
	}
	return check
}

// errDiffers means that a snapshot is not the state.
var errDiffers = errors.New("differs from the replayed state")

// compareSnapshot compares the state of a feature with its snapshot.
func (a *App) compareSnapshot(ctx context.Context, f *feature, head snapshotHead) error {
	chunks := a.readChunks(storeReader{ctx, a.store}, f, head)
	defer chunks.Close()
	stored := &comparer{in: chunks}
	if err := statestream.Write(stored, f.state); err != nil {
		return err
	}
	if n, err := chunks.Read(make([]byte, 1)); n > 0 || err != io.EOF {
		return cmp.Or(err, errDiffers)
	}
	return nil
}

// A comparer compares what is written to it with a reader.
type comparer struct {
	in     io.Reader
	buffer []byte
}

func (c *comparer) Write(p []byte) (int, error) {
	c.buffer = slices.Grow(c.buffer[:0], len(p))[:len(p)]
	if _, err := io.ReadFull(c.in, c.buffer); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, errDiffers
	} else if err != nil {
		return 0, err
	}
	if !bytes.Equal(p, c.buffer) {
		return 0, errDiffers
	}
	return len(p), nil
}

// A limitedStore hides the events after limit. 0 means no limit.
type limitedStore struct {
	eventlog.Store
	limit int64
}

func (s *limitedStore) Records(ctx context.Context, after int64) iter.Seq2[eventlog.Record, error] {
	if s.limit == 0 {
		return s.Store.Records(ctx, after)
	}
	return func(yield func(eventlog.Record, error) bool) {
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

// Stamp returns a different value for each limit.
func (s *limitedStore) Stamp(ctx context.Context) (int64, error) {
	if s.limit != 0 {
		return -s.limit, nil
	}
	return s.Store.Stamp(ctx)
}
