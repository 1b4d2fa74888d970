package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// ErrNoEvents means that an edit or an erasure includes no event.
var ErrNoEvents = errors.New("no event matches")

// PreviewAmend calls f with each event that an edit includes, with its present and its new
// amendment.
func (a *Admin) PreviewAmend(ctx context.Context, e Edit, f func(r eventlog.Record, before *Amendment, am Amendment) error) error {
	return a.store.View(ctx, func(v eventlog.View) error { return e.each(v, f) })
}

// TryAmend tries an edit without recording it. It returns an error if replay would get stuck at an
// amended event, or earlier than without the edit.
func (a *Admin) TryAmend(ctx context.Context, e Edit) error {
	without, err := a.findStuck(ctx, nil)
	if err != nil {
		return err
	}
	with, err := a.findStuck(ctx, &e)
	if err != nil || with == nil {
		return err
	}
	before, err := a.FindAmendment(ctx, with.Record.Seq)
	if err != nil {
		return err
	}
	_, isAmended, err := e.amend(with.Record, before)
	switch {
	case err != nil:
		return err
	case without != nil && with.Record.Seq >= without.Record.Seq && !isAmended:
		return nil
	}
	with.Amended = nil
	return fmt.Errorf("with this amendment, %w", with)
}

// findStuck returns the error at which replay with an edit gets stuck; nil if replay succeeds.
func (a *Admin) findStuck(ctx context.Context, e *Edit) (*StuckError, error) {
	replayed, err := newApp(a.store, a.o.toReplay(), a.features...)
	if err != nil {
		return nil, err
	}
	replayed.edit = e
	err = replayed.open(ctx)
	if stuck, ok := errors.AsType[*StuckError](err); ok {
		return stuck, nil
	}
	return nil, err
}

// Amend records the amendments of an edit in one transaction, with one event in the log that
// announces them, so that running processes rebuild their states. The actor is that of [WithActor].
// The error is [ErrNoEvents] if the edit includes no event.
func (a *Admin) Amend(ctx context.Context, e Edit) (set Amended, err error) {
	if e.Reason == "" {
		return set, errors.New("a reason is required")
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = storable(e.Time)
	return set, a.store.Write(ctx, func(tx eventlog.Tx) error {
		set = Amended{Fields: e.Fields}
		index, err := amendments.ReadIndex(tx)
		if err != nil {
			return err
		}
		hasFallbacks, err := hasDocuments(tx, amendments.FallbackPrefix)
		if err != nil {
			return err
		}
		err = e.each(tx, func(r eventlog.Record, _ *Amendment, am Amendment) error {
			set.add(am)
			if hasFallbacks { // of the amendment before
				if err := tx.Put(amendments.Name(amendments.FallbackPrefix, r.Seq), nil); err != nil {
					return err
				}
			}
			return amendmentRow{am, r.Type, r.Version}.put(tx)
		})
		if err == nil && set.Events() == 0 {
			err = ErrNoEvents
		}
		if err != nil {
			return err
		}
		return set.append(ctx, tx, index)
	})
}

// each calls f with each event of a view that the edit includes.
func (e *Edit) each(v eventlog.View, f func(r eventlog.Record, before *Amendment, am Amendment) error) error {
	return eachEvent(v, e.First, e.Last, func(r eventlog.Record, before *Amendment) error {
		am, ok, err := e.amend(r, before)
		if err != nil || !ok {
			return err
		}
		return f(r, before, am)
	})
}

// eachEvent calls f with the events from first to last, and their amendments; nil for an event
// without one. 0 means the first or last event of the log.
func eachEvent(v eventlog.View, first, last int64, f func(r eventlog.Record, before *Amendment) error) error {
	index, err := amendments.ReadIndex(v)
	if err != nil {
		return err
	}
	reader := newAmendmentReader(v, index, false)
	defer reader.Close()
	for r, err := range v.Records(max(first, 1) - 1) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if last > 0 && r.Seq > last {
			break
		}
		before, err := reader.Of(r.Seq)
		if err != nil {
			return err
		}
		if err := f(r, before); err != nil {
			return err
		}
	}
	return nil
}

func hasDocuments(v eventlog.View, prefix string) (bool, error) {
	for _, err := range v.Documents(prefix, "") {
		return err == nil, err
	}
	return false, nil
}

// append appends the event that announces the amendments, and stores the index.
func (a Amended) append(ctx context.Context, tx eventlog.Tx, index amendments.Index) error {
	data, err := strictjson.Marshal(a)
	if err != nil {
		return err
	}
	last, err := tx.Last()
	if err != nil {
		return err
	}
	seq := last + 1
	if err := tx.Append(eventlog.Record{Seq: seq, ID: fmt.Sprintf("amendments-%d", seq), Time: a.Time, Actor: Actor(ctx), Type: amendedType, Version: 1, Data: data}); err != nil {
		return err
	}
	if index.Record = seq; !a.Fallback || a.Replaced {
		index.Add(a.Seq)
	}
	if !a.Fallback {
		index.Last = max(index.Last, a.Seq, a.Last)
	}
	document, err := strictjson.Marshal(index)
	if err != nil {
		return err
	}
	return tx.Put(amendments.IndexDocument, document)
}
