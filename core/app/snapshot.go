package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/app/internal/statestream"
)

// A snapshot is the state of a feature after an event, as chunks of its stream, see package
// statestream, and a head, which is stored last. Documents of earlier attempts, without a head, are
// never used, and the next snapshot of the feature removes them:
//
//	snapshot/FEATURE/FINGERPRINT/head             the head
//	snapshot/FEATURE/FINGERPRINT/ATTEMPT/000000   the first chunk
//
// A document is a line with the checksum of its name and its content, and the content.

// A snapshotHead is the head of a snapshot.
type snapshotHead struct {
	Seq         int64         `json:"seq"` // of the last event in it
	ID          string        `json:"id"`  // of that event
	Fingerprint string        `json:"fingerprint"`
	Amended     string        `json:"amended"` // hash of the amendments that are in it
	Time        time.Time     `json:"time"`
	Attempt     string        `json:"attempt"`
	Chunks      int           `json:"chunks"`
	Took        time.Duration `json:"took"` // how long the state was locked
	Slow        bool          `json:"slow"` // there are no chunks: a replay takes less time
}

const (
	maxChunk    = 1_000_000                            // size of a document, in bytes
	maxContent  = maxChunk - 2*sha256.Size - len("\n") // of a chunk
	maxTogether = 2                                    // chunks in a transaction
	maxBuffer   = 8 * maxChunk                         // size of the chunks in memory
	maxGarbage  = 24 << 20                             // growth of the heap between collections
	maxLocked   = 50 * time.Millisecond                // by a snapshot while the app serves
	drainBudget = 5 * time.Second                      // for the snapshots at the end of Run
)

// snapshotPrefix returns the start of the names of a feature's snapshots.
func snapshotPrefix(f *feature) string { return snapshotsPrefix + f.Name + "/" }

// snapshotsPrefix starts the names of all snapshots.
const snapshotsPrefix = "snapshot/"

// codePrefix returns the start of the names of a feature's snapshots by this code.
func (a *App) codePrefix(f *feature) string { return snapshotPrefix(f) + a.fingerprint(f) + "/" }

// headName ends the name of a head, after the prefix of its code.
const headName = "head"

// chunkName returns the end of the name of a chunk.
func chunkName(attempt string, i int) string { return fmt.Sprintf("%s/%06d", attempt, i) }

// SnapshotDue takes the snapshots that are due: a feature has many events since its last one.
// Servers call it before they are ready, because commands wait while a large state is encoded.
func (a *App) SnapshotDue(ctx context.Context) { a.snapshotDue(ctx, math.MaxInt64) }

// Snapshot stores the current states, so that a program with the same fingerprints starts faster.
// Commands wait while a state is encoded. Servers need not call it: [App.Run] takes snapshots.
func (a *App) Snapshot(ctx context.Context) error {
	if a.o.ReadOnly != "" {
		return fmt.Errorf("take snapshot: the server is read-only: %s", a.o.ReadOnly)
	}
	var errs []error
	for _, f := range a.features {
		if statestream.Check(f.State.kind) != nil {
			continue // petrock sync warns about it
		}
		if err := a.snapshot(ctx, f); err != nil {
			errs = append(errs, fmt.Errorf("feature %s: %w", f.Name, err))
		}
	}
	return errors.Join(errs...)
}

// takeSnapshots takes snapshots that are due and take little time, and keeps the summary of types
// recent.
func (a *App) takeSnapshots(ctx context.Context) {
	summarized := int64(-summaryInterval)
	for ctx.Err() == nil {
		grown, _ := a.changes()
		summarized = a.summarize(ctx, summarized)
		if a.snapshotDue(ctx, maxLocked) {
			select { // at most once a minute
			case <-time.After(time.Minute):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-grown:
		case <-ctx.Done():
		}
	}
}

// snapshotDue takes the snapshots that are due, of features whose last one has locked the state for
// less than a limit. It reports whether there were any.
func (a *App) snapshotDue(ctx context.Context, limit time.Duration) (due bool) {
	if a.o.ReadOnly != "" || a.o.NoSnapshot || a.o.NoNewSnapshot {
		return false
	}
	for _, f := range a.features {
		if !a.isDue(f, limit) {
			continue
		}
		due = true
		if head, ok, err := a.readHead(storeReader{ctx, a.store}, f); err == nil && ok {
			a.noteSnapshot(f, head) // another process may have taken it
			if !a.isDue(f, limit) {
				continue
			}
		}
		if err := a.snapshot(ctx, f); err != nil && ctx.Err() == nil {
			a.logError(slog.LevelWarn, "take snapshot", err, "feature", f.Name)
		}
	}
	return due
}

// isDue reports whether a feature has many events since the last snapshot. The interval grows with
// the log, so that all snapshots together cost little.
func (a *App) isDue(f *feature, limit time.Duration) bool {
	const minEvents = 10_000
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.isValid() && f.stuck == nil && f.locked < limit && a.seq-max(f.snapshot, f.tried) >= max(minEvents, a.seq/10) &&
		statestream.Check(f.State.kind) == nil && a.fingerprint(f) != ""
}

// noteSnapshot records that a snapshot is stored, unless it is outdated or damaged.
func (a *App) noteSnapshot(f *feature, head snapshotHead) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if head.Seq <= a.seq && head.Attempt != f.unusable && head.Amended == a.amendments.Hash(head.Seq) {
		f.tried, f.locked = head.Seq, head.Took
		if !head.Slow {
			f.snapshot = head.Seq
		}
	}
}

func (a *App) snapshot(ctx context.Context, f *feature) error {
	if a.fingerprint(f) == "" {
		return errors.New("take snapshot: the program's own file cannot be read, so its snapshots could not be distinguished from those of other builds")
	}
	w := &snapshotWriter{ctx: ctx, app: a, feature: f, prefix: a.codePrefix(f)}
	err := w.encode()
	if errors.Is(err, errSlow) {
		w.discard()
		w.head.Slow, w.buffer, w.stored, err = true, nil, 0, nil
	}
	if err == nil && w.head.ID != "" { // otherwise there is no new event, or the feature is stuck
		err = w.finish()
	}
	switch {
	case err != nil && w.stored > 0:
		w.discard()
	case err == nil && w.head.ID != "":
		a.noteSnapshot(f, w.head)
	}
	if errors.Is(err, errUnused) {
		err = nil // the next snapshot includes the change
	}
	return err
}

// CheckSnapshots returns an error if the state of a feature changes when it is encoded and decoded.
// It needs memory for a second state. Use it in tests.
func (a *App) CheckSnapshots(ctx context.Context) error {
	var errs []error
	for _, f := range a.features {
		if statestream.Check(f.State.kind) == nil {
			if err := a.checkRoundTrip(ctx, f); err != nil {
				errs = append(errs, fmt.Errorf("feature %s: %w", f.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// checkRoundTrip returns an error if the state of a feature changes when it is encoded and decoded.
func (a *App) checkRoundTrip(ctx context.Context, f *feature) (err error) {
	defer panics.Catch(&err)
	if err := a.lockCurrent(ctx); err != nil {
		return err
	}
	defer a.mu.RUnlock()
	if f.stuck != nil {
		return nil
	}
	in, out := io.Pipe()
	sum, second := sha256.New(), sha256.New()
	var writing sync.WaitGroup
	writing.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				out.CloseWithError(panics.Error(p))
			}
		}()
		out.CloseWithError(statestream.Write(io.MultiWriter(sum, out), f.state))
	})
	again := reflect.New(f.State.kind).Interface()
	err = statestream.Read(in, again)
	in.CloseWithError(err)
	writing.Wait()
	if err != nil {
		return err
	}
	if err := statestream.Write(second, again); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), second.Sum(nil)) {
		return errors.New("the state changes when it is encoded and decoded")
	}
	return nil
}
