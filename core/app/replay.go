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

// A source is what the log is read from: a [Tx], or a [Store].
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

// errAmended says that a record was met by which others, maybe applied already, mean something else.
var errAmended = errors.New("the log was amended")

// catchUp makes the states those after all that is committed.
func (a *App) catchUp(ctx context.Context) error {
	stamp, err := a.store.Stamp(ctx) // before the lock, as it may wait for a write that wants the lock
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

// follow makes the states those after all that is committed in a source, which has this stamp at least. a.mu is locked.
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
			return err // for all that, other processes would have to wait
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

// begin makes the states new, or those of snapshots, and reads the amendments.
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

// begin makes the state of a feature new.
func (f *feature) begin() (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("making the state of %s: %w", f.Name, panicked(p))
		}
	}()
	f.state, f.from, f.snapshot, f.stuck = f.State.begin(), 0, 0, nil
	return nil
}

// begun is the event after which the log has to be read, if the states are as begin has left them.
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

// replay is applyEach for many: they are read and decoded in one goroutine, and applied in another.
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

// progress tells that a replay goes on.
func (a *App) progress(done int64) {
	if a.o.Progress != nil {
		a.o.Progress(done)
		return
	}
	a.o.Logger.Info("replaying the log", "events", done)
}

// apply applies decoded events. While the app opens, the first event that cannot be applied is the
// error, and the states are stale or those before it. In a running process such an event stops the
// feature that it is of, and no other.
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

// applySome is apply up to the first panic. It returns how many events are done.
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
			return done, fmt.Errorf("reading the log: after event %d comes event %d; the log is damaged: bring back a backup of it", a.at, d.Seq)
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

// block marks a feature, nil if this build does not have it, as stuck at an event. While the app
// opens it returns that as the error.
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
