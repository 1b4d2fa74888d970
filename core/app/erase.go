package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// erasedType is the type of an erased event. Its data is an [ErasedEvent].
const erasedType = ownFeature + "/erased"

// An ErasedEvent is what is left of an event that was erased.
type ErasedEvent struct {
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// ErrErased means that an event was already erased.
var ErrErased = errors.New("already erased")

// Erase removes the content of an event for good: its data, idempotency key and result, its
// amendments, the errors of workers about it, and all snapshots. Its number, id, time and type
// stay. Replay and workers skip it. The erasure is recorded in the log, with its actor, so that running processes
// rebuild their states. An [App] of this process must not use the Store.
//
// If the event was already erased, Erase calls [Store.Scrub] again and returns [ErrErased].
func Erase(ctx context.Context, s Store, seq int64, reason string) error {
	am := Amendment{Seq: seq, Skip: true, Erased: true, By: Actor(ctx), Reason: reason, Time: storable(time.Now())}
	err := s.Write(ctx, func(tx Tx) error { return am.erase(ctx, tx) })
	if err != nil && !errors.Is(err, ErrErased) {
		return err
	}
	if scrubErr := s.Scrub(ctx); scrubErr != nil {
		return fmt.Errorf("event %d is erased from the log, but its content may still be in the files: %w", seq, scrubErr)
	}
	return err
}

func (am Amendment) erase(ctx context.Context, tx Tx) error {
	r, last, err := findInTx(tx, am.Seq)
	switch {
	case err != nil:
		return err
	case r.Type == erasedType:
		return fmt.Errorf("event %d: %w", am.Seq, ErrErased)
	case strings.HasPrefix(r.Type, ownFeature+"/"):
		return fmt.Errorf("event %d is an amendment; erase the event that it amends", am.Seq)
	}
	if err := eraseAmendments(tx, am.Seq); err != nil {
		return err
	}
	data, err := strictjson.Marshal(ErasedEvent{r.Type, r.Version})
	if err != nil {
		return err
	}
	left := Event{Seq: r.Seq, ID: r.ID, Time: r.Time}
	if err := tx.Replace(Record{Event: left, Type: erasedType, Version: 1, Data: data}); err != nil {
		return err
	}
	if err := eraseDocuments(tx, am.Seq); err != nil {
		return err
	}
	return am.put(ctx, tx, last)
}

// eraseAmendments removes the content of the amendments of an event from the log.
func eraseAmendments(tx Tx, seq int64) error {
	var found []Record
	for r, err := range tx.Records(seq) {
		if err != nil {
			return err
		}
		var am Amendment
		if r.Type == amendedType && json.Unmarshal(r.Data, &am) == nil && am.Seq == seq {
			if r.Data, err = strictjson.Marshal(Amendment{Seq: seq, Skip: true, Time: am.Time}); err != nil {
				return err
			}
			found = append(found, r)
		}
	}
	for _, r := range found {
		if err := tx.Replace(r); err != nil {
			return err
		}
	}
	return nil
}

// eraseDocuments removes the snapshots, and what workers have saved about an event.
func eraseDocuments(tx Tx, seq int64) error {
	names, err := tx.Names("")
	if err != nil {
		return err
	}
	for _, name := range names {
		kind, worker, _ := strings.Cut(name, "/")
		switch {
		case name == workerDocument(worker):
			err = eraseProgress(tx, worker, seq)
		case kind+"/" == snapshotsPrefix, isAbout(name, seq):
			err = tx.Put(name, nil)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAbout reports whether a document is about an event that a worker has set aside.
func isAbout(name string, seq int64) bool {
	worker, _ := strings.CutSuffix(name, fmt.Sprintf("/%019d", seq))
	_, worker, _ = strings.Cut(worker, "/")
	return name == asideDocument(worker, seq) || name == retryDocument(worker, seq)
}

// eraseProgress removes the error of a worker about an event.
func eraseProgress(tx Tx, worker string, seq int64) error {
	p, err := readProgress(tx, worker)
	if err != nil || p.Trying != seq {
		return err
	}
	p.Error = ""
	return p.put(tx, worker)
}
