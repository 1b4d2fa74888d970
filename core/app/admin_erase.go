package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// erasedType is the type of an erased event. Its data is an erasedEvent.
const erasedType = ownFeature + "/erased"

// scrubDocument exists from the start of an erasure until the files are rewritten.
const scrubDocument = "scrub"

// An erasedEvent is what is left of an event that was erased.
type erasedEvent struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// An Erasure selects events, for [Admin.PreviewErase] and [Admin.Erase]. Erasing removes the
// content of events for good: their data, idempotency keys, results, actors and causes, their
// amendments and fallbacks, the errors of workers about them, and all snapshots. Their numbers,
// ids, times and types stay. Replay and workers skip them.
type Erasure struct {
	First, Last int64              // the events that are looked at; 0 means those of the log
	Reason      string             // for the log; may be empty
	Progress    func(erased int64) // called after each batch; may be nil

	// Match selects events; nil selects all. The second argument is the amendment of the event; nil
	// if it has none.
	Match func(eventlog.Record, *Amendment) bool
}

// PreviewErase calls f with each event that an erasure includes.
func (a *Admin) PreviewErase(ctx context.Context, e Erasure, f func(eventlog.Record)) error {
	return eachEvent(storeReader{ctx, a.store}, e.First, e.Last, func(r eventlog.Record, before *Amendment) error {
		if e.matches(r, before) {
			f(r)
		}
		return nil
	})
}

// Erase erases the events of an erasure. First it makes all processes skip them, in one
// transaction; the log records that, with its actor, so that running processes rebuild their
// states. Then it removes the content in batches, and calls [eventlog.Store.Scrub] once. If it
// fails or is interrupted, run it again.
//
// It returns the number of erased events, and [ErrNoEvents] if it is 0.
func (a *Admin) Erase(ctx context.Context, e Erasure) (int64, error) {
	var erased []int64
	err := a.store.Write(ctx, func(tx eventlog.Tx) (err error) {
		erased, err = e.begin(ctx, tx)
		return err
	})
	if err != nil {
		return 0, err
	}
	const batch = 1000
	done := int64(0)
	for part := range slices.Chunk(erased, batch) {
		if err := a.store.Write(ctx, func(tx eventlog.Tx) error { return removeContent(tx, part) }); err != nil {
			return done, fmt.Errorf("%d of %d events are erased; run it again: %w", done, len(erased), err)
		}
		if done += int64(len(part)); e.Progress != nil {
			e.Progress(done)
		}
	}
	if pending, err := a.store.Get(ctx, scrubDocument); err != nil || pending == nil {
		return 0, errors.Join(err, ErrNoEvents)
	}
	if err := a.Scrub(ctx); err != nil {
		return done, err
	}
	if done == 0 {
		return 0, ErrNoEvents
	}
	return done, nil
}

// Scrub calls [eventlog.Store.Scrub] again, for events that were erased before: an earlier copy of
// their content may be in the files.
func (a *Admin) Scrub(ctx context.Context) error {
	if err := a.store.Scrub(ctx); err != nil {
		return fmt.Errorf("the events are erased from the log, but their content may still be in the files; run it again: %w", err)
	}
	return a.store.Write(ctx, func(tx eventlog.Tx) error {
		// The summary may count the erased events.
		return errors.Join(tx.Put(scrubDocument, nil), tx.Put(summaryDocument, nil))
	})
}

// matches reports whether the erasure includes an event.
func (e Erasure) matches(r eventlog.Record, before *Amendment) bool {
	return !isOwn(r.Type) && r.Seq >= e.First && (e.Last == 0 || r.Seq <= e.Last) && (e.Match == nil || e.Match(r, before))
}

// begin makes all processes skip the events, and removes what is stored about them. It returns
// their numbers. Those that an interrupted erasure has begun with are included.
func (e Erasure) begin(ctx context.Context, tx eventlog.Tx) (erased []int64, err error) {
	index, err := amendments.ReadIndex(tx)
	if err != nil {
		return nil, err
	}
	hasFallbacks, err := hasDocuments(tx, amendments.FallbackPrefix)
	if err != nil {
		return nil, err
	}
	interrupted, err := tx.Get(scrubDocument)
	if err != nil {
		return nil, err
	}
	first := e.First
	if interrupted != nil {
		first = 1
	}
	var set Amended
	var about []eventlog.Record // earlier events of type app/amended
	now := storable(time.Now())
	err = eachEvent(tx, first, 0, func(r eventlog.Record, before *Amendment) error {
		isBegun := before != nil && before.Erased && !isOwn(r.Type)
		switch {
		case r.Type == amendedType && concerns(r, erased):
			about = append(about, r)
			return nil
		case !isBegun && !e.matches(r, before):
			return nil
		}
		erased = append(erased, r.Seq)
		if hasFallbacks {
			if err := tx.Put(amendments.Name(amendments.FallbackPrefix, r.Seq), nil); err != nil {
				return err
			}
		}
		if isBegun {
			return nil
		}
		am := Amendment{Seq: r.Seq, Skip: true, Erased: true, By: Actor(ctx), Reason: e.Reason, Time: now}
		set.add(am)
		return amendmentRow{Amendment: am, OfType: erasedType, OfVersion: 1}.put(tx)
	})
	if err != nil || len(erased) == 0 {
		return nil, err
	}
	if err := removeTraces(tx, erased, about); err != nil {
		return nil, err
	}
	if set.Seq == 0 {
		return erased, nil
	}
	return erased, set.append(ctx, tx, index)
}

// removeTraces removes what is stored about events. about are the events of type app/amended that
// announce amendments of them.
func removeTraces(tx eventlog.Tx, erased []int64, about []eventlog.Record) error {
	for _, r := range about {
		if err := stripAmended(tx, r); err != nil {
			return err
		}
	}
	if err := eraseDocuments(tx, erased); err != nil {
		return err
	}
	return tx.Put(scrubDocument, []byte("true"))
}

// concerns reports whether an event of type app/amended announces an amendment of one of the
// events.
func concerns(r eventlog.Record, erased []int64) bool {
	var set Amended
	if json.Unmarshal(r.Data, &set) != nil {
		return false
	}
	at, found := slices.BinarySearch(erased, set.Seq)
	return !set.Erased && (found || at < len(erased) && erased[at] <= set.Last)
}

// stripAmended removes the reason, and the content that older builds have recorded, from an event
// of type app/amended.
func stripAmended(tx eventlog.Tx, r eventlog.Record) error {
	var set Amended
	if err := json.Unmarshal(r.Data, &set); err != nil {
		return err
	}
	set.Amendment = Amendment{Seq: set.Seq, Skip: set.Skip, Time: set.Time}
	set.Fields = nil
	data, err := strictjson.Marshal(set)
	if err != nil {
		return err
	}
	r.Data = data
	return tx.Replace(r)
}

// removeContent replaces events, which all processes skip.
func removeContent(tx eventlog.Tx, erased []int64) error {
	var left []eventlog.Record
	for r, err := range tx.Records(erased[0] - 1) {
		if err != nil {
			return err
		}
		if r.Seq > erased[len(erased)-1] {
			break
		}
		if _, found := slices.BinarySearch(erased, r.Seq); !found || r.Type == erasedType {
			continue
		}
		data, err := strictjson.Marshal(erasedEvent{r.Type, r.Version})
		if err != nil {
			return err
		}
		left = append(left, eventlog.Record{Seq: r.Seq, ID: r.ID, Time: r.Time, Type: erasedType, Version: 1, Data: data})
	}
	return tx.Replace(left...)
}

// eraseDocuments removes the snapshots, and what workers have saved about events.
func eraseDocuments(tx eventlog.Tx, erased []int64) error {
	for _, prefix := range []string{snapshotsPrefix, "aside/", "retry/"} {
		names, err := tx.Names(prefix)
		if err != nil {
			return err
		}
		for _, name := range names {
			seq, err := strconv.ParseInt(name[strings.LastIndexByte(name, '/')+1:], 10, 64)
			if _, found := slices.BinarySearch(erased, seq); err == nil && found || prefix == snapshotsPrefix {
				if err := tx.Put(name, nil); err != nil {
					return err
				}
			}
		}
	}
	workers, err := tx.Names(workerDocument(""))
	if err != nil {
		return err
	}
	for _, name := range workers {
		worker := strings.TrimPrefix(name, workerDocument(""))
		p, err := readProgress(tx, worker)
		if err != nil {
			return err
		}
		if _, found := slices.BinarySearch(erased, p.Trying); found && p.Error != "" {
			p.Error = ""
			if err := p.put(tx, worker); err != nil {
				return err
			}
		}
	}
	return nil
}
