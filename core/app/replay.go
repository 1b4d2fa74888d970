package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"
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
	if stamp == a.stamp && (a.stuck != nil || a.sound()) {
		return a.stuck // nothing has come that could help
	}
	_, within := from.(Tx)
	for try := 0; ; try++ {
		if a.stale || a.stuck != nil {
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
	var stuck *StuckError
	if errors.As(err, &stuck) {
		a.stuck = err
	}
	if err == nil || stuck != nil {
		a.stamp, a.behind = stamp, false
	}
	return err
}

// begin makes the states new, or those of snapshots, if they are stale, and learns the amendments.
func (a *App) begin(from source) error {
	amendments, err := readAmendments(from)
	if err != nil {
		return err
	}
	for seq, am := range amendments {
		if seq <= a.at && a.amendments[seq].Time != am.Time {
			a.stale = true // what was applied meant something else
		}
	}
	a.amendments, a.stuck = amendments, nil
	if !a.stale {
		return nil
	}
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
	f.state, f.from, f.snapshot = f.State.begin(), 0, 0
	return nil
}

// begun is the entry after which the log has to be read, if the states are as begin has left them.
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
	a.o.Logger.Info("replaying the log", "entries", done)
}

// apply applies what was decoded. After an error the states are those before the record that it is about, or stale.
func (a *App) apply(batch []decoded) (err error) {
	var d *decoded
	defer func() {
		if p := recover(); p != nil {
			a.stale = true
			err = a.stuckAt(d.Record, panicked(p))
		}
	}()
	for i := range batch {
		d = &batch[i]
		switch {
		case d.Seq != a.at+1:
			return fmt.Errorf("reading the log: after entry %d comes entry %d; the log is damaged: bring back a backup of it", a.at, d.Seq)
		case d.Type == amendedType:
			if err := a.knowsAmendment(d.Record); err != nil {
				return err
			}
		case d.err != nil:
			return a.stuckAt(d.Record, d.err)
		case d.command != nil:
			d.command.apply(d.of.feature.state, d.Entry)
		}
		a.at, a.lastID = d.Seq, d.ID
	}
	return nil
}
