package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/app/internal/panics"
)

// errAmended means that an amendment changes events which may be in the states already.
var errAmended = errors.New("the log was amended")

// catchUp applies all committed events.
func (a *App) catchUp(ctx context.Context) error {
	// Read the stamp before taking the lock: it may wait for a write, which needs the lock.
	stamp, err := a.store.Stamp(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	return a.catchUpTo(ctx, stamp)
}

// catchUpTo applies all committed events. stamp is the stamp of the store, read before.
func (a *App) catchUpTo(ctx context.Context, stamp int64) error {
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.mu.Unlock()
	before := a.seq
	err := a.follow(storeReader{ctx, a.store}, stamp)
	if a.seq > before {
		a.signalGrowth()
	}
	return err
}

// follow applies all committed events of a view. stamp is the stamp of its store, read before the
// records. a.mu is held.
func (a *App) follow(from eventlog.View, stamp int64) (err error) {
	if stamp == a.stamp && a.isValid() {
		return nil
	}
	_, inTx := from.(eventlog.Tx)
	for try := 0; ; try++ {
		if a.stale {
			a.rebuilding.Store(!inTx)
			defer a.rebuilding.Store(false)
			if err := a.reset(from); err != nil {
				return err
			}
		}
		// Replay uses two goroutines, but a transaction allows only one.
		if a.seq == a.replayStart() && !inTx {
			err = a.replay(from)
		} else {
			err = a.applyEach(from)
		}
		if _, stuck := errors.AsType[*StuckError](err); stuck {
			if now, readErr := amendments.ReadIndex(from); readErr == nil && now.Record != a.amendments.Record {
				// The log was amended meanwhile, so only some events were read with the amendments.
				err = errAmended
			}
		}
		if !errors.Is(err, errAmended) {
			break
		}
		a.stale = true
		if inTx {
			return err // a rebuild would block other processes
		}
		if try > 9 {
			return fmt.Errorf("read the log: %w, but document %s lacks the amendment", err, amendments.IndexDocument)
		}
	}
	a.publishHealth()
	if err == nil {
		if a.behind {
			a.logRecovery()
			a.signalRebuilt()
		}
		a.stamp, a.behind = stamp, false
	}
	return err
}

// logRecovery logs which features follow the log again after a rebuild.
func (a *App) logRecovery() {
	for _, f := range a.features {
		if f.wasStuck && f.stuck == nil {
			a.o.Logger.Warn("feature works again", "feature", f.Name)
			f.wasStuck = false
		}
	}
}

// reset reads the amendments, and loads the states from snapshots or creates new ones.
func (a *App) reset(from eventlog.View) error {
	index, err := amendments.ReadIndex(from)
	if err != nil {
		return err
	}
	a.amendments, a.lastAmended = index, nil
	for _, f := range a.features {
		if err := f.reset(); err != nil {
			return err
		}
		if reader, ok := from.(storeReader); ok && !a.o.NoSnapshot {
			a.restoreSnapshot(reader, f)
		}
	}
	a.seq, a.lastID, a.stale, a.behind = a.replayStart(), "", false, true
	return nil
}

// reset creates a new state.
func (f *feature) reset() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("create the state of %s: %w", f.Name, panics.Error(p))
		}
	}()
	f.wasStuck = f.wasStuck || f.stuck != nil
	f.state, f.from, f.snapshot, f.stuck = f.State.create(), 0, 0, nil
	return nil
}

// replayStart returns the last event that the snapshots of all features include.
func (a *App) replayStart() int64 {
	if len(a.features) == 0 {
		return 0
	}
	first := slices.MinFunc(a.features, func(f, g *feature) int { return cmp.Compare(f.from, g.from) })
	return first.from
}

// applyEach decodes and applies records one by one.
func (a *App) applyEach(from eventlog.View) error {
	reader := newAmendmentReader(from, a.amendments, false)
	defer reader.Close()
	for r, err := range from.Records(a.seq) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		one := []decodedEvent{{Record: r}}
		if err := a.decode(reader, &one[0]); err != nil {
			return err
		}
		if err := a.apply(one); err != nil {
			return err
		}
	}
	return nil
}

// replay applies records in batches. A second goroutine reads and decodes them.
func (a *App) replay(from eventlog.View) error {
	d := &batchDecoder{
		batches: make(chan []decodedEvent, 8),
		free:    make(chan []decodedEvent, 8),
		stop:    make(chan struct{}),
	}
	go d.run(a, from)
	const minEvents = 10_000 // for a reliable time
	begin, start := time.Now(), a.seq
	next := begin.Add(time.Second)
	var err error
	for batch := range d.batches {
		if err != nil {
			continue // drain
		}
		if err = a.apply(batch); err != nil {
			close(d.stop)
			continue
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(time.Second)
			a.o.Progress(a.seq - start)
		}
		select {
		case d.free <- batch[:0]:
		default:
		}
	}
	if err == nil {
		err = d.err
	}
	if n := a.seq - start; err == nil && n >= minEvents {
		a.eventCost = time.Since(begin) / time.Duration(n)
	}
	return err
}

// A batchDecoder reads and decodes events in batches.
type batchDecoder struct {
	batches chan []decodedEvent // closed at the end
	free    chan []decodedEvent // batches that were applied, to be used again
	stop    chan struct{}       // closed to stop early
	err     error               // why reading has ended early; valid after batches is closed
}

// A batch ends at this number of events, or this size of their data.
const (
	maxBatchEvents = 256
	maxBatchBytes  = 1 << 20
)

func (d *batchDecoder) run(a *App, from eventlog.View) {
	defer close(d.batches)
	reader := newAmendmentReader(from, a.amendments, false)
	defer reader.Close()
	batch, bytes := make([]decodedEvent, 0, maxBatchEvents), 0
	for r, err := range from.Records(a.replayStart()) {
		if err != nil {
			d.err = fmt.Errorf("read the log: %w", err)
			break
		}
		batch = append(batch, decodedEvent{Record: r})
		if d.err = a.decode(reader, &batch[len(batch)-1]); d.err != nil {
			batch = batch[:len(batch)-1]
			break
		}
		if bytes += len(r.Data); len(batch) == maxBatchEvents || bytes > maxBatchBytes {
			if !d.send(batch) {
				return
			}
			batch, bytes = d.next(), 0
		}
	}
	if len(batch) > 0 {
		d.send(batch)
	}
}

// send sends a batch, and reports whether to go on.
func (d *batchDecoder) send(batch []decodedEvent) bool {
	select {
	case d.batches <- batch:
		return true
	case <-d.stop:
		return false
	}
}

// next returns an empty batch.
func (d *batchDecoder) next() []decodedEvent {
	select {
	case batch := <-d.free:
		return batch
	default:
		return make([]decodedEvent, 0, maxBatchEvents)
	}
}

// apply applies decoded events. For an event that cannot be applied it returns an error at startup;
// in a running process it stops only the event's feature.
func (a *App) apply(batch []decodedEvent) error {
	for len(batch) > 0 {
		done, err := a.applyUntilPanic(batch)
		if err != nil {
			return err
		}
		batch = batch[done:]
	}
	return nil
}

// applyUntilPanic applies events up to the first panic. It returns the number of applied events.
func (a *App) applyUntilPanic(batch []decodedEvent) (done int, err error) {
	defer func() {
		if p := recover(); p != nil {
			d := &batch[done]
			if err = a.markStuck(d.Record, d.cmdType.feature, panics.Error(p), true); err != nil {
				a.stale = true
				return
			}
			a.seq, a.lastID = d.Seq, d.ID
			done++
		}
	}()
	for ; done < len(batch); done++ {
		d := &batch[done]
		if d.amended {
			a.lastAmended = append(a.lastAmended[max(0, len(a.lastAmended)-maxAmended+1):], d.Seq)
		}
		switch {
		case d.Seq != a.seq+1:
			return done, fmt.Errorf("read the log: event %d is followed by event %d; the log is damaged; restore a backup", a.seq, d.Seq)
		case d.Type == amendedType:
			err = a.checkAmended(d)
		case d.err != nil:
			err = a.markStuck(d.Record, d.affected, d.err, false)
		case d.command != nil && d.cmdType.feature.stuck == nil:
			d.command.apply(d.cmdType.feature.state, eventOf(d.Record))
		}
		if err != nil {
			return done, err
		}
		a.seq, a.lastID = d.Seq, d.ID
	}
	return done, nil
}

// maxAmended is the number of amended events that a [StuckError] names.
const maxAmended = 10

// markStuck marks a feature as stuck at an event; f is nil if this build does not have the feature.
// stopped means that Apply panicked. At startup it returns the error instead.
func (a *App) markStuck(r eventlog.Record, f *feature, cause error, stopped bool) error {
	stuck := a.stuckAt(r, cause)
	if !a.opened.Load() {
		return stuck
	}
	if f != nil && f.stuck == nil {
		f.stuck, stuck.Stopped = stuck, stopped
		a.o.Logger.Error("feature "+stuck.state(), "feature", f.Name, "error", stuck)
	}
	return nil
}

// stuckAt returns the error for an event that cannot be applied.
func (a *App) stuckAt(r eventlog.Record, err error) *StuckError {
	stuck := &StuckError{Record: r, Program: a.o.Program, Late: a.opened.Load(), Err: err}
	for _, seq := range a.lastAmended {
		if seq < r.Seq {
			stuck.Amended = append(stuck.Amended, seq)
		}
	}
	return stuck
}

// publishHealth makes [App.Health] return the features as they are now. a.mu is held.
func (a *App) publishHealth() {
	features := map[string]string{}
	for _, f := range a.features {
		if f.stuck != nil {
			features[f.Name] = f.stuck.state()
		}
	}
	if len(features) > 0 || a.featureHealth.Load() != nil {
		a.featureHealth.Store(&features)
	}
}

// checkAmended returns errAmended if the states were built without the amendments that an event
// announces. Fallbacks matter only to features that are stuck.
func (a *App) checkAmended(d *decodedEvent) error {
	if d.Seq <= a.amendments.Record {
		return nil
	}
	var set Amended
	if err := json.Unmarshal(d.Data, &set); err == nil && set.Fallback && !set.Replaced &&
		!slices.ContainsFunc(a.features, func(f *feature) bool { return f.stuck != nil }) {
		return nil
	}
	return errAmended
}
