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

// A Downgrade configures [Admin.Downgrade], which stores the events of a command above a version,
// as that version, for builds that know no later version. Other builds ignore it.
type Downgrade struct {
	Type     string           // such as posts/create
	To       int              // the version
	DryRun   bool             // store nothing
	Reason   string           // for the log; may be empty
	Progress func(done int64) // called after each event with its number; may be nil
}

// A DowngradeReport is the result of a [Downgrade].
type DowngradeReport struct {
	Type   string           `json:"type"`
	To     int              `json:"to"`
	Events int64            `json:"events"` // events above the version
	Stored int64            `json:"stored"` // events stored now: missing or different before
	First  int64            `json:"first"`  // the first event; 0 if there is none
	Before eventlog.Payload `json:"before"` // how the first event is read
	After  eventlog.Payload `json:"after"`  // how older builds read it
}

// maxFallbacks is the number of fallbacks that are stored in one transaction.
const maxFallbacks = 1000

// Downgrade converts the events, verifies that each result can be read as the version, and stores
// it. It can be repeated: it stores what is missing. Processes of older builds that are stuck
// continue when it has finished.
func (a *Admin) Downgrade(ctx context.Context, d Downgrade) (report DowngradeReport, err error) {
	report = DowngradeReport{Type: d.Type, To: d.To}
	known, err := newApp(a.store, a.o.toReplay(), a.features...)
	if err != nil {
		return report, err
	}
	t := known.types[d.Type]
	switch {
	case t == nil:
		return report, fmt.Errorf("%s is not a command of this build", d.Type)
	case t.upgrades[d.To].kind == nil:
		return report, fmt.Errorf("%s has no version %d below its version %d", d.Type, d.To, t.version)
	}
	index, err := amendments.ReadIndex(storeReader{ctx, a.store})
	if err != nil {
		return report, err
	}
	w := &fallbackWriter{ctx: ctx, s: a.store, d: d, index: index}
	reader := newAmendmentReader(storeReader{ctx, a.store}, index, false)
	defer reader.Close()
	for r, err := range a.store.Records(ctx, 0) {
		if err != nil {
			return report, fmt.Errorf("read the log: %w", err)
		}
		if d.Progress != nil {
			d.Progress(r.Seq)
		}
		am, err := reader.Of(r.Seq)
		if err != nil {
			return report, err
		}
		p := r.Payload()
		if am != nil {
			p = am.payload()
		}
		if p.Type != d.Type || p.Version <= d.To {
			continue
		}
		lower, err := t.downgradePayload(p, d.To)
		if err != nil {
			return report, fmt.Errorf("downgrade event %d: %w", r.Seq, err)
		}
		if report.Events++; report.Events == 1 {
			report.First, report.Before, report.After = r.Seq, p, lower
		}
		stored, err := w.add(reader, r.Seq, lower)
		if err != nil {
			return report, err
		}
		report.Stored += stored
	}
	if d.DryRun {
		return report, nil
	}
	return report, w.finish()
}

// A fallbackWriter stores fallbacks in several transactions.
type fallbackWriter struct {
	ctx   context.Context
	s     eventlog.Store
	d     Downgrade
	index amendments.Index
	set   Amended
	batch []eventlog.Document
}

// add adds the fallback of an event, and returns 1 if it is new or different.
func (w *fallbackWriter) add(reader *AmendmentReader, seq int64, p eventlog.Payload) (int64, error) {
	value, err := strictjson.Marshal(p)
	if err != nil {
		return 0, err
	}
	stored, err := reader.fallbacks.of(seq)
	if err != nil || string(stored) == string(value) {
		return 0, err
	}
	w.set.Replaced = w.set.Replaced || stored != nil
	w.set.add(Amendment{Seq: seq, Type: p.Type, Version: p.Version, Reason: w.d.Reason, Time: storable(time.Now())})
	if w.d.DryRun {
		return 1, nil
	}
	if len(w.batch) == maxFallbacks {
		err = w.write(func(eventlog.Tx) error { return nil })
	}
	w.batch = append(w.batch, eventlog.Document{Name: amendments.Name(amendments.FallbackPrefix, seq), Value: value})
	return 1, err
}

// errAmendedMeanwhile means that the events of a downgrade may have changed while it ran.
var errAmendedMeanwhile = errors.New("events were amended or erased meanwhile; run it again")

// write stores the batch.
func (w *fallbackWriter) write(more func(eventlog.Tx) error) error {
	err := w.s.Write(w.ctx, func(tx eventlog.Tx) error {
		now, err := amendments.ReadIndex(tx)
		if err == nil && now.Record != w.index.Record {
			err = errAmendedMeanwhile
		}
		if err != nil {
			return err
		}
		for _, d := range w.batch {
			if err := tx.Put(d.Name, d.Value); err != nil {
				return err
			}
		}
		return more(tx)
	})
	w.batch = w.batch[:0]
	return err
}

// finish stores the last batch and, in the same transaction, notifies running processes.
func (w *fallbackWriter) finish() error {
	if w.set.Seq == 0 {
		return nil
	}
	w.set.Fallback = true
	return w.write(func(tx eventlog.Tx) error { return w.set.append(w.ctx, tx, w.index) })
}
