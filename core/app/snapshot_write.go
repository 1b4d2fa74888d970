package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"reflect"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/app/internal/panics"
	"github.com/petrock/petrock/core/app/internal/statestream"
	"github.com/petrock/petrock/core/strictjson"
)

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

// A snapshotWriter stores the stream of a state. If the state is large, it unlocks the state at
// times, because commands lock the state while no other can write to the store. If a command then
// changes the state, there is no snapshot.
type snapshotWriter struct {
	ctx      context.Context
	app      *App
	feature  *feature
	prefix   string // of the documents
	head     snapshotHead
	state    any
	buffer   []byte        // the stream that is not stored yet
	document []byte        // reused
	stored   int           // number of stored chunks
	lockedAt time.Time     // zero if the state is not locked
	limit    time.Duration // of the time that the state is locked; 0 means none
	heap     uint64        // bytes at the start
}

// encode writes the stream of the current state, and sets the head. The head has no ID if no
// snapshot is needed.
func (w *snapshotWriter) encode() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("encode state: %w", panics.Error(p))
		}
		w.unlock()
	}()
	a, f := w.app, w.feature
	if err := a.lockCurrent(w.ctx); err != nil {
		return err
	}
	w.lockedAt = time.Now()
	if f.stuck != nil || a.lastID == "" {
		// The state does not include the last events, or has none since the last snapshot.
		return nil
	}
	w.head = snapshotHead{
		Seq: a.seq, ID: a.lastID, Fingerprint: a.fingerprint(f), Amended: a.amendments.Hash(a.seq),
		Time: storable(a.o.Now()), Attempt: newID(),
	}
	w.state, w.heap = f.state, heapBytes()
	if a.eventCost > 0 { // decoding takes at most half of the time of encoding
		w.limit = 2 * a.eventCost * time.Duration(a.seq)
		for _, other := range a.features {
			if other != f {
				w.limit = max(w.limit-other.locked, 1)
			}
		}
	}
	return statestream.Write(w, f.state)
}

// errSlow means that a replay takes less time than the snapshots.
var errSlow = errors.New("a replay takes less time")

func (w *snapshotWriter) unlock() {
	if !w.lockedAt.IsZero() {
		w.app.mu.RUnlock()
		w.head.Took += time.Since(w.lockedAt)
		w.lockedAt = time.Time{}
	}
}

// Write buffers a part of the stream.
func (w *snapshotWriter) Write(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	if w.limit > 0 && w.head.Took+time.Since(w.lockedAt) > w.limit {
		return 0, errSlow
	}
	if len(w.buffer) > maxChunk {
		w.buffer = slices.Grow(w.buffer, max(len(p), maxBuffer+maxChunk-len(w.buffer))) // at once
	}
	w.buffer = append(w.buffer, p...)
	if len(w.buffer) < maxBuffer {
		return len(p), nil
	}
	return len(p), w.spill()
}

// spill stores the whole chunks in the buffer, while the state is not locked.
func (w *snapshotWriter) spill() error {
	w.unlock()
	if err := w.store(len(w.buffer) / maxContent); err != nil {
		return err
	}
	a := w.app
	if err := a.lockToRead(w.ctx); err != nil {
		return err
	}
	w.lockedAt = time.Now()
	if !a.isValid() || a.seq != w.head.Seq || w.feature.state != w.state {
		return errors.New("the state has changed meanwhile; retry later")
	}
	return nil
}

// store stores the first chunks in the buffer, in small transactions.
func (w *snapshotWriter) store(chunks int) error {
	for chunks > 0 {
		some := min(chunks, maxTogether)
		err := w.app.write(w.ctx, func(tx eventlog.Tx) error {
			if err := w.checkAmendments(tx); err != nil {
				return err
			}
			return w.put(tx, some)
		})
		if err != nil {
			return err
		}
		w.stored += some
		w.buffer = w.buffer[:copy(w.buffer, w.buffer[some*maxContent:])]
		chunks -= some
		collectAbove(w.heap + maxGarbage)
	}
	return nil
}

// put stores the first chunks in the buffer.
func (w *snapshotWriter) put(tx eventlog.Tx, chunks int) error {
	for i := range chunks {
		content := w.buffer[i*maxContent : min((i+1)*maxContent, len(w.buffer))]
		name := w.prefix + chunkName(w.head.Attempt, w.stored+i)
		w.document = append(append(append(w.document[:0], seal(name, content)...), '\n'), content...)
		if err := tx.Put(name, w.document); err != nil {
			return err
		}
	}
	return nil
}

// checkAmendments returns an error if an event in the state was amended or erased meanwhile.
func (w *snapshotWriter) checkAmendments(tx eventlog.Tx) error {
	index, err := amendments.ReadIndex(tx)
	if err == nil && w.head.Amended != index.Hash(w.head.Seq) {
		err = errUnused
	}
	return err
}

// finish stores the rest of the stream and the head, and removes older snapshots.
func (w *snapshotWriter) finish() error {
	if err := w.store(len(w.buffer)/maxContent - 1); err != nil {
		return err
	}
	rest := (len(w.buffer) + maxContent - 1) / maxContent
	w.head.Chunks = w.stored + rest
	head, err := strictjson.Marshal(w.head)
	if err != nil {
		return err
	}
	return w.app.write(w.ctx, func(tx eventlog.Tx) error {
		if err := w.checkAmendments(tx); err != nil {
			return err
		}
		chunks, err := tx.Names(w.prefix + w.head.Attempt + "/")
		if err != nil {
			return err
		}
		if len(chunks) != w.stored {
			return errors.New("another process has taken a snapshot meanwhile")
		}
		if err := w.put(tx, rest); err != nil {
			return err
		}
		name := w.prefix + headName
		if err := tx.Put(name, append([]byte(seal(name, head)+"\n"), head...)); err != nil {
			return err
		}
		return w.dropOthers(tx)
	})
}

// discard removes the chunks of a snapshot that was not finished.
func (w *snapshotWriter) discard() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), time.Second)
	defer cancel()
	_ = w.app.store.Write(ctx, func(tx eventlog.Tx) error { // the next snapshot removes them too
		for i := range w.stored {
			if err := tx.Put(w.prefix+chunkName(w.head.Attempt, i), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// dropOthers removes all other snapshots of the feature, except the latest of other code, which may
// be in use.
func (w *snapshotWriter) dropOthers(tx eventlog.Tx) error {
	names, err := tx.Names(snapshotPrefix(w.feature))
	if err != nil {
		return err
	}
	keep := []string{w.prefix + headName, w.prefix + w.head.Attempt + "/"}
	var latest snapshotHead
	var kept []string
	for _, name := range names {
		prefix, isHead := strings.CutSuffix(name, "/"+headName)
		if !isHead || name == keep[0] {
			continue
		}
		var head snapshotHead
		content, err := readSealed(tx, name)
		if err == nil && json.Unmarshal(content, &head) == nil && head.Time.After(latest.Time) {
			latest, kept = head, []string{name, prefix + "/" + head.Attempt + "/"}
		}
	}
	keep = append(keep, kept...)
	for _, name := range names {
		if !slices.ContainsFunc(keep, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			if err := tx.Put(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// collectAbove collects garbage if the heap is larger than a limit. By itself, the collector lets
// the heap double before it starts. For a state of 1,000,000 items, a server that takes a snapshot
// then needs 690 MiB instead of 530 (.ci/memory, with SQLite), and a snapshot may need 64 MiB more
// than a replay.
func collectAbove(limit uint64) {
	if heapBytes() > limit {
		runtime.GC()
	}
}

// heapBytes returns the size of the heap, garbage included.
func heapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
