package app

import (
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/app/internal/amendments"
	"github.com/petrock/petrock/core/strictjson"
)

// amendedType is the type of events whose data is an [Amended].
const amendedType = ownFeature + "/amended"

// An Amendment changes how an event is read. The event itself stays in the log.
type Amendment struct {
	Seq     int64           `json:"seq"`
	Skip    bool            `json:"skip,omitempty"`    // ignore the event and the fields below
	Type    string          `json:"type,omitempty"`    // such as posts/create
	Version int             `json:"version,omitempty"` // 0 means 1
	Data    json.RawMessage `json:"data,omitempty"`    // nil means the data of the record
	Reason  string          `json:"reason"`            // required, except by [Admin.Erase]
	Time    time.Time       `json:"time"`              // zero means now

	Erased bool   `json:"erased,omitempty"` // the event was erased; Skip is set too
	By     string `json:"by,omitempty"`     // who erased it
}

// payload returns the command to read instead of the one in the event.
func (am *Amendment) payload() eventlog.Payload {
	return eventlog.Payload{Type: am.Type, Version: am.Version, Data: am.Data}
}

// An Edit selects events and amends them, for [Admin.PreviewAmend], [Admin.TryAmend] and
// [Admin.Amend].
type Edit struct {
	First, Last int64     // the events that are looked at; 0 means those of the log
	Reason      string    // required
	Fields      []string  // see [Amended]
	Time        time.Time // zero means now

	// Amend returns the amendment of an event, and whether the edit includes the event. before is
	// its present amendment; nil if it has none. Amend sets Skip, or Type, Version and Data. It
	// must always return the same.
	Amend func(r eventlog.Record, before *Amendment) (am Amendment, ok bool, err error)
}

// Edit returns the edit that records the amendment of one event.
func (am Amendment) Edit() Edit {
	return Edit{First: am.Seq, Last: am.Seq, Reason: am.Reason, Time: am.Time,
		Amend: func(r eventlog.Record, _ *Amendment) (Amendment, bool, error) { return am, r.Seq == am.Seq, nil }}
}

// amend returns the complete amendment of an event. Events of the log itself and erased ones are
// not included.
func (e *Edit) amend(r eventlog.Record, before *Amendment) (am Amendment, ok bool, err error) {
	if r.Seq < e.First || e.Last > 0 && r.Seq > e.Last || isOwn(r.Type) || before != nil && before.Erased {
		return am, false, nil
	}
	if am, ok, err = e.Amend(r, before); err != nil {
		return am, false, fmt.Errorf("amend event %d: %w", r.Seq, err)
	}
	am.Seq, am.Reason, am.Time, am.Erased, am.By = r.Seq, e.Reason, e.Time, false, ""
	if am.Skip {
		am.Type, am.Version, am.Data = "", 0, nil
		return am, ok, nil
	}
	am.Version = max(am.Version, 1)
	if am.Data == nil {
		am.Data = r.Data
	}
	return am, ok, nil
}

// An amendmentRow is the document of an amended event.
type amendmentRow struct {
	Amendment
	OfType    string `json:"ofType,omitempty"` // type of the event as it was recorded; may be empty
	OfVersion int    `json:"ofVersion,omitempty"`
}

func (row amendmentRow) put(tx eventlog.Tx) error {
	document, err := strictjson.Marshal(row)
	if err != nil {
		return err
	}
	return tx.Put(amendments.Name(amendments.Prefix, row.Seq), document)
}

// Amended is the data of an event of type app/amended, which announces one or more amendments that
// were recorded together. The fields of [Amendment] are those that the amendments have in common;
// Seq is the first event, and Data is empty.
type Amended struct {
	Amendment
	Last   int64    `json:"last,omitempty"`   // the last event, if there are several
	Count  int64    `json:"count,omitempty"`  // the number of events, if there are several
	Fields []string `json:"fields,omitempty"` // changes, without values, such as "set title"

	Fallback bool `json:"fallback,omitempty"` // only for builds that cannot read the events
	Replaced bool `json:"replaced,omitempty"` // there were other fallbacks before
}

// Events returns the number of events.
func (a Amended) Events() int64 {
	if a.Seq == 0 {
		return 0
	}
	return max(a.Count, 1)
}

// add adds an amendment.
func (a *Amended) add(am Amendment) {
	am.Data = nil
	if a.Seq == 0 {
		a.Amendment = am
		return
	}
	a.Count, a.Last = max(a.Count, 1)+1, am.Seq
	if am.Type != a.Type {
		a.Type = ""
	}
	if am.Version != a.Version {
		a.Version = 0
	}
}

// amendmentRows yields the amendments of a view, in the order of their events.
func amendmentRows(v eventlog.View) iter.Seq2[amendmentRow, error] {
	return func(yield func(amendmentRow, error) bool) {
		for d, err := range v.Documents(amendments.Prefix, "") {
			var row amendmentRow
			if err == nil {
				err = json.Unmarshal(d.Value, &row)
			}
			if err != nil {
				yield(row, fmt.Errorf("read the amendments: %w", err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
	}
}

// A rowReader reads documents of events, whose numbers must not decrease.
type rowReader struct {
	from   eventlog.View
	prefix string
	isOne  bool // only one document is needed

	next  func() (eventlog.Document, error, bool) // nil before the first document is needed
	stop  func()
	seq   int64 // of the current document; lastSeq after the last one
	value []byte
}

// lastSeq is above all sequence numbers.
const lastSeq = 1<<63 - 1

// of returns the document of an event; nil if it has none.
func (r *rowReader) of(seq int64) ([]byte, error) {
	if r.isOne {
		return r.from.Get(amendments.Name(r.prefix, seq))
	}
	if r.next == nil {
		r.next, r.stop = iter.Pull2(r.from.Documents(r.prefix, amendments.Name(r.prefix, seq-1)))
	}
	for r.seq < seq {
		d, err, ok := r.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			r.seq = lastSeq
			break
		}
		if r.seq, err = strconv.ParseInt(strings.TrimPrefix(d.Name, r.prefix), 10, 64); err != nil {
			return nil, fmt.Errorf("read document %s: %w", d.Name, err)
		}
		r.value = d.Value
	}
	if r.seq != seq {
		return nil, nil
	}
	return r.value, nil
}

func (r *rowReader) close() {
	if r.stop != nil {
		r.stop()
	}
}

// An AmendmentReader reads the amendments and fallbacks of events in the order of the log. It does
// not keep them in memory.
type AmendmentReader struct {
	last                  int64 // the last amended event
	amendments, fallbacks rowReader
}

// newAmendmentReader returns a reader for all events, or for one event.
func newAmendmentReader(v eventlog.View, index amendments.Index, isOne bool) *AmendmentReader {
	return &AmendmentReader{index.Last,
		rowReader{from: v, prefix: amendments.Prefix, isOne: isOne}, rowReader{from: v, prefix: amendments.FallbackPrefix, isOne: isOne}}
}

// Of returns the amendment of an event; nil if it has none. The numbers of events must not
// decrease.
func (r *AmendmentReader) Of(seq int64) (*Amendment, error) {
	if seq > r.last {
		return nil, nil
	}
	document, err := r.amendments.of(seq)
	var am Amendment
	if err == nil && document != nil {
		err = json.Unmarshal(document, &am)
	}
	if err != nil {
		return nil, fmt.Errorf("read the amendment of event %d: %w", seq, err)
	}
	if document == nil {
		return nil, nil
	}
	return &am, nil
}

// fallback returns the fallback of an event. The numbers of events must not decrease.
func (r *AmendmentReader) fallback(seq int64) (p eventlog.Payload, ok bool, err error) {
	document, err := r.fallbacks.of(seq)
	if err == nil && document != nil {
		err = json.Unmarshal(document, &p)
	}
	if err != nil {
		return p, false, fmt.Errorf("read the fallback of event %d: %w", seq, err)
	}
	return p, document != nil, nil
}

// Close releases the reader.
func (r *AmendmentReader) Close() {
	r.amendments.close()
	r.fallbacks.close()
}

// isOwn reports whether a type is one of the log's own.
func isOwn(eventType string) bool { return strings.HasPrefix(eventType, ownFeature+"/") }

// ownFeature is the feature in the types of the log's own records.
const ownFeature = "app"
