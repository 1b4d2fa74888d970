package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A source is a [Tx] or a [Store] to read the log from.
type source interface {
	Records(after int64) iter.Seq2[Record, error]
	Get(name string) ([]byte, error)
}

// A reading is a store as a source.
type reading struct {
	ctx   context.Context
	store Store
}

func (r reading) Records(after int64) iter.Seq2[Record, error] { return r.store.Records(r.ctx, after) }
func (r reading) Get(name string) ([]byte, error)              { return r.store.Get(r.ctx, name) }

// errAmended means that an amendment was read which changes events that may be applied already.
var errAmended = errors.New("the log was amended")

// catchUp applies everything that is committed.
func (a *App) catchUp(ctx context.Context) error {
	stamp, err := a.store.Stamp(ctx) // before the lock: it may wait for a write that wants the lock
	if err != nil {
		return fmt.Errorf("reading the log: %w", err)
	}
	if err := a.lock(ctx); err != nil {
		return err
	}
	defer a.mu.Unlock()
	before := a.at
	err = a.follow(reading{ctx, a.store}, stamp)
	if a.at > before {
		a.signal()
	}
	return err
}

// follow applies everything that is committed in a source, whose stamp is at least the given one.
// a.mu is locked.
func (a *App) follow(from source, stamp int64) (err error) {
	if stamp == a.stamp && a.sound() {
		return nil
	}
	_, within := from.(Tx)
	for try := 0; ; try++ {
		if a.stale {
			a.making.Store(!within)
			defer a.making.Store(false)
			if err := a.begin(from); err != nil {
				return err
			}
		}
		replay := a.at == a.begun()
		if replay && !within { // a transaction is for one goroutine
			err = a.replay(from)
		} else {
			err = a.applyEach(from.Records(a.at))
		}
		if !errors.Is(err, errAmended) {
			break
		}
		if a.stale = true; within {
			return err // rebuilding would make other processes wait
		}
		if try > 9 {
			return fmt.Errorf("reading the log: %w, and the document %s does not say how", err, amendmentsName)
		}
	}
	if err == nil {
		a.stamp, a.behind = stamp, false
	}
	return err
}

// begin resets the states, or loads them from snapshots, and reads the amendments.
func (a *App) begin(from source) error {
	amendments, err := readAmendments(from)
	if err != nil {
		return err
	}
	a.amendments = amendments
	for _, f := range a.features {
		if err := f.begin(); err != nil {
			return err
		}
		if !a.o.NoSnapshot {
			a.restore(from, f)
		}
	}
	a.at, a.lastID, a.stale, a.behind = a.begun(), "", false, true
	return nil
}

// begin resets the state of a feature.
func (f *feature) begin() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("making the state of %s: %w", f.Name, panicked(p))
		}
	}()
	f.state, f.from, f.snapshot, f.stuck = f.State.begin(), 0, 0, nil
	return nil
}

// begun returns the event after which the log must be read once begin has returned.
func (a *App) begun() int64 {
	if len(a.features) == 0 {
		return 0
	}
	first := a.features[0].from
	for _, f := range a.features {
		first = min(first, f.from)
	}
	return first
}

// applyEach applies records one after the other.
func (a *App) applyEach(records iter.Seq2[Record, error]) error {
	for r, err := range records {
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if err := a.apply([]decoded{a.decode(r)}); err != nil {
			return err
		}
	}
	return nil
}

// many bytes of records are not read all at once.
const many = 1 << 20

// replay applies many records: one goroutine reads and decodes them, another applies them.
func (a *App) replay(from source) error {
	const size = 256
	bytes := 0
	batches := make(chan []decoded, 8)
	free := make(chan []decoded, 8)
	stop := make(chan struct{})
	var failed error
	go func() {
		defer close(batches)
		batch := make([]decoded, 0, size)
		send := func() bool {
			select {
			case batches <- batch:
			case <-stop:
				return false
			}
			select {
			case batch = <-free:
			default:
				batch = make([]decoded, 0, size)
			}
			bytes = 0
			return true
		}
		for r, err := range from.Records(a.begun()) {
			if err != nil {
				failed = fmt.Errorf("reading the log: %w", err)
				break
			}
			batch = append(batch, a.decode(r))
			if bytes += len(r.Data); (len(batch) == size || bytes > many) && !send() {
				return
			}
		}
		if len(batch) > 0 {
			send()
		}
	}()
	next := time.Now().Add(time.Second)
	began := a.at
	var err error
	for batch := range batches {
		if err != nil {
			continue
		}
		if err = a.apply(batch); err != nil {
			close(stop)
			continue
		}
		if now := time.Now(); now.After(next) {
			next = now.Add(time.Second)
			a.progress(a.at - began)
		}
		select {
		case free <- batch[:0]:
		default:
		}
	}
	if err == nil {
		err = failed
	}
	return err
}

// progress reports the progress of a replay.
func (a *App) progress(done int64) {
	if a.o.Progress != nil {
		a.o.Progress(done)
		return
	}
	a.o.Logger.Info("replaying the log", "events", done)
}

// apply applies decoded events. While the app opens, it returns an error for the first event that
// cannot be applied; the states are then stale or those before the event. In a running process it
// stops only the feature of such an event.
func (a *App) apply(batch []decoded) error {
	for len(batch) > 0 {
		done, err := a.applySome(batch)
		if err != nil {
			return err
		}
		batch = batch[done:]
	}
	return nil
}

// applySome applies events up to the first panic. It returns how many are done.
func (a *App) applySome(batch []decoded) (done int, err error) {
	defer func() {
		if p := recover(); p != nil {
			d := &batch[done]
			if err = a.block(d, d.of.feature, panicked(p)); err != nil {
				a.stale = true
				return
			}
			a.at, a.lastID = d.Seq, d.ID
			done++
		}
	}()
	for ; done < len(batch); done++ {
		d := &batch[done]
		switch {
		case d.Seq != a.at+1:
			return done, fmt.Errorf("reading the log: after event %d comes event %d; the log is damaged; restore a backup", a.at, d.Seq)
		case d.Type == amendedType:
			err = a.knowsAmendment(d)
		case d.err != nil:
			err = a.block(d, d.concerned, d.err)
		case d.command != nil && d.of.feature.stuck == nil:
			d.command.apply(d.of.feature.state, d.Event)
		}
		if err != nil {
			return done, err
		}
		a.at, a.lastID = d.Seq, d.ID
	}
	return done, nil
}

// block marks a feature as stuck at an event; f is nil if this build does not have the feature.
// While the app opens, block returns the error instead.
func (a *App) block(d *decoded, f *feature, cause error) error {
	if !a.opened.Load() {
		return a.stuckAt(d.Record, cause)
	}
	if f != nil && f.stuck == nil {
		f.stuck = a.stuckAt(d.Record, cause)
		a.o.Logger.Error("feature stopped", "feature", f.Name, "error", f.stuck)
	}
	return nil
}

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
	SnapshotDiffers SnapshotResult = "differs" // the log leads to a different state
	SnapshotDamaged SnapshotResult = "damaged" // it cannot be read, and is not used
	SnapshotUnused  SnapshotResult = "unused"  // events before it were amended since; it is not used
	SnapshotNone    SnapshotResult = "none"    // this build has taken none
)

// Replay opens an app without snapshots. It compares the snapshots of this build with the states
// that the log leads to, one per feature.
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

// snapshotToCheck returns the snapshot of a feature as JSON, or the result if there is nothing to
// compare.
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

// A limited store ends after the event limit, if that is not 0.
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

// Stamp returns another value for each limit.
func (s *limited) Stamp(ctx context.Context) (int64, error) {
	if s.limit != 0 {
		return -s.limit, nil
	}
	return s.Store.Stamp(ctx)
}
