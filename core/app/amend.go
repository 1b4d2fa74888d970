package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

const (
	amendedType     = ownFeature + "/amended" // of events whose data is an [Amended]
	amendmentPrefix = "amendment/"            // of the names of documents with an amendmentRow
	indexDocument   = "amended"               // the document with the amendmentIndex
	oldAmendments   = "amendments"            // the document with all amendments, of older builds
)

// An Amendment changes how an event is read. The event itself stays in the log.
type Amendment struct {
	Seq     int64           `json:"seq"`
	Skip    bool            `json:"skip,omitempty"`    // ignore the event; otherwise read it with the fields below
	Type    string          `json:"type,omitempty"`    // such as posts/create
	Version int             `json:"version,omitempty"` // 0 means 1
	Data    json.RawMessage `json:"data,omitempty"`    // nil means the data of the record
	Reason  string          `json:"reason"`            // required, except by [Erase]
	Time    time.Time       `json:"time"`              // zero means now

	Erased bool   `json:"erased,omitempty"` // the event was erased; Skip is set too
	By     string `json:"by,omitempty"`     // who erased it
}

// payload returns the command to read instead of the one in the event.
func (am *Amendment) payload() Payload { return Payload{am.Type, am.Version, am.Data} }

// An amendmentRow is the document of an amended event.
type amendmentRow struct {
	Amendment
	OfType    string `json:"ofType,omitempty"` // type of the event as it was recorded; may be empty
	OfVersion int    `json:"ofVersion,omitempty"`
}

func (row amendmentRow) put(tx Tx) error {
	document, err := strictjson.Marshal(row)
	if err != nil {
		return err
	}
	return tx.Put(rowName(amendmentPrefix, row.Seq), document)
}

// rowName returns the name of the document of an event. Names sort like the numbers of events.
func rowName(prefix string, seq int64) string { return fmt.Sprintf("%s%019d", prefix, seq) }

// Amended is the data of an event of type app/amended, which tells of one or more amendments that were
// recorded together. The fields of [Amendment] are those that the amendments have in common; Seq is the
// first event, and Data is empty.
type Amended struct {
	Amendment
	Last   int64    `json:"last,omitempty"`   // the last event, if there are several
	Count  int64    `json:"count,omitempty"`  // the number of events, if there are several
	Fields []string `json:"fields,omitempty"` // changes of fields, without values, such as "set title"

	Fallback bool `json:"fallback,omitempty"` // builds that cannot read the events read them as above
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

// append appends the event that tells of the amendments, and stores the index.
func (a Amended) append(ctx context.Context, tx Tx, index amendmentIndex) error {
	data, err := strictjson.Marshal(a)
	if err != nil {
		return err
	}
	last, err := tx.Last()
	if err != nil {
		return err
	}
	seq := last + 1
	if err := tx.Append(Record{Event: Event{seq, fmt.Sprintf("amendments-%d", seq), a.Time, Actor(ctx)}, Type: amendedType, Version: 1, Data: data}); err != nil {
		return err
	}
	if index.Record = seq; !a.Fallback || a.Replaced {
		index.add(a.Seq)
	}
	if !a.Fallback {
		index.Last = max(index.Last, a.Seq, a.Last)
	}
	document, err := strictjson.Marshal(index)
	if err != nil {
		return err
	}
	return tx.Put(indexDocument, document)
}

// An amendmentIndex tells which amendments a state has, however many there are.
type amendmentIndex struct {
	Record  int64    `json:"record"` // the last event of type app/amended
	Last    int64    `json:"last"`   // the last event that is amended
	Changes []change `json:"changes"`
}

// A change says that events from First on were amended.
type change struct {
	Record int64 `json:"record"` // the event of type app/amended
	First  int64 `json:"first"`
}

// maxChanges is the number of changes in an index. If there are more, the oldest are combined, and
// snapshots from between them are not used.
const maxChanges = 100

// add adds the change of the last record. It drops those that it includes.
func (x *amendmentIndex) add(first int64) {
	x.Changes = slices.DeleteFunc(x.Changes, func(c change) bool { return c.First >= first })
	x.Changes = append(x.Changes, change{x.Record, first})
	if n := len(x.Changes); n > maxChanges {
		x.Changes[1].First = x.Changes[0].First
		x.Changes = slices.Delete(x.Changes, 0, 1)
	}
}

// amendmentsHash returns a text that changes when an event up to seq is amended; empty without
// amendments of these.
func amendmentsHash(x amendmentIndex, seq int64) string {
	for _, c := range slices.Backward(x.Changes) {
		if c.First <= seq {
			return strconv.FormatInt(c.Record, 10)
		}
	}
	return ""
}

// readAmendments returns the index of the amendments.
func readAmendments(from interface{ Get(string) ([]byte, error) }) (x amendmentIndex, err error) {
	document, err := from.Get(indexDocument)
	if err == nil && document != nil {
		err = json.Unmarshal(document, &x)
	}
	if err != nil {
		return x, fmt.Errorf("read the amendments: %w", err)
	}
	return x, nil
}

// amendmentRows yields the amendments of a view, in the order of their events.
func amendmentRows(v View) iter.Seq2[amendmentRow, error] {
	return func(yield func(amendmentRow, error) bool) {
		for d, err := range v.Documents(amendmentPrefix, "") {
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

// Migrate converts the documents of a log of an older build. Stores call it once.
func Migrate(tx Tx) error {
	old, err := tx.Get(oldAmendments)
	if err != nil || old == nil {
		return err
	}
	last, err := tx.Last()
	if err != nil {
		return err
	}
	rows, err := convertAmendments(old, last)
	if err != nil {
		return err
	}
	for _, d := range rows {
		if err := tx.Put(d.Name, d.Value); err != nil {
			return err
		}
	}
	return tx.Put(oldAmendments, nil)
}

// convertAmendments returns the documents that replace the document with all amendments. last is the
// last event of the log.
func convertAmendments(old []byte, last int64) ([]Document, error) {
	all := map[int64]Amendment{}
	if err := json.Unmarshal(old, &all); err != nil {
		return nil, fmt.Errorf("read the amendments: %w", err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	var rows []Document
	seqs := slices.Sorted(maps.Keys(all))
	for _, seq := range seqs {
		value, err := strictjson.Marshal(amendmentRow{Amendment: all[seq]})
		if err != nil {
			return nil, err
		}
		rows = append(rows, Document{rowName(amendmentPrefix, seq), value})
	}
	index := amendmentIndex{Record: last, Last: seqs[len(seqs)-1]}
	index.add(seqs[0])
	value, err := strictjson.Marshal(index)
	return append(rows, Document{indexDocument, value}), err
}

// A rowReader reads documents of events, whose numbers must not decrease.
type rowReader struct {
	from   View
	prefix string
	isOne  bool // only one document is needed

	next  func() (Document, error, bool) // nil before the first document is needed
	stop  func()
	seq   int64 // of the current document; lastSeq after the last one
	value []byte
}

// of returns the document of an event; nil if it has none.
func (r *rowReader) of(seq int64) ([]byte, error) {
	if r.isOne {
		return r.from.Get(rowName(r.prefix, seq))
	}
	if r.next == nil {
		r.next, r.stop = iter.Pull2(r.from.Documents(r.prefix, rowName(r.prefix, seq-1)))
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

// An AmendmentReader reads the amendments and fallbacks of events in the order of the log. It does not
// keep them in memory.
type AmendmentReader struct {
	last                  int64 // the last amended event
	amendments, fallbacks rowReader
}

// ReadAmendments returns a reader of the amendments of a store. The caller closes it.
func ReadAmendments(ctx context.Context, s Store) (*AmendmentReader, error) {
	v := storeReader{ctx, s}
	index, err := readAmendments(v)
	return newAmendmentReader(v, index, false), err
}

// newAmendmentReader returns a reader for all events, or for one event.
func newAmendmentReader(v View, index amendmentIndex, isOne bool) *AmendmentReader {
	return &AmendmentReader{index.Last,
		rowReader{from: v, prefix: amendmentPrefix, isOne: isOne}, rowReader{from: v, prefix: fallbackPrefix, isOne: isOne}}
}

// Of returns the amendment of an event; nil if it has none. The numbers of events must not decrease.
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

// Close releases the reader.
func (r *AmendmentReader) Close() {
	r.amendments.close()
	r.fallbacks.close()
}

// FindAmendment returns the amendment of an event; nil if it has none.
func FindAmendment(ctx context.Context, s Store, seq int64) (*Amendment, error) {
	return newAmendmentReader(storeReader{ctx, s}, amendmentIndex{Last: seq}, true).Of(seq)
}

// An Edit amends events.
type Edit struct {
	First, Last int64     // the events that are looked at; 0 means those of the log
	Reason      string    // required
	Fields      []string  // see [Amended]
	Time        time.Time // zero means now

	// Amend returns the amendment of an event, and whether the edit includes the event. before is its
	// present amendment; nil if it has none. Amend sets Skip, or Type, Version and Data. It must
	// always return the same.
	Amend func(r Record, before *Amendment) (am Amendment, ok bool, err error)
}

// ErrNoEvents means that an edit or an erasure includes no event.
var ErrNoEvents = errors.New("no event matches")

// amend returns the complete amendment of an event. Events of the log itself and erased ones are not
// included.
func (e *Edit) amend(r Record, before *Amendment) (am Amendment, ok bool, err error) {
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

// isOwn reports whether a type is one of the log's own.
func isOwn(eventType string) bool { return strings.HasPrefix(eventType, ownFeature+"/") }

// Each calls f with each event that the edit includes, with its present and its new amendment.
func (e Edit) Each(v View, f func(r Record, before *Amendment, am Amendment) error) error {
	index, err := readAmendments(v)
	if err != nil {
		return err
	}
	reader := newAmendmentReader(v, index, false)
	defer reader.Close()
	for r, err := range v.Records(max(e.First, 1) - 1) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if e.Last > 0 && r.Seq > e.Last {
			break
		}
		before, err := reader.Of(r.Seq)
		if err != nil {
			return err
		}
		am, ok, err := e.amend(r, before)
		if err == nil && ok {
			err = f(r, before, am)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Write records the amendments in one transaction, with one event in the log that tells of them, so that
// running processes rebuild their states. An [App] of this process must not use the Store. The actor is
// that of [WithActor].
func (e Edit) Write(ctx context.Context, s Store) (set Amended, err error) {
	if e.Reason == "" {
		return set, errors.New("a reason is required")
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = storable(e.Time)
	return set, s.Write(ctx, func(tx Tx) error {
		set = Amended{Fields: e.Fields}
		index, err := readAmendments(tx)
		if err != nil {
			return err
		}
		hasFallbacks, err := hasDocuments(tx, fallbackPrefix)
		if err != nil {
			return err
		}
		err = e.Each(tx, func(r Record, _ *Amendment, am Amendment) error {
			set.add(am)
			if hasFallbacks { // of the amendment before
				if err := tx.Put(rowName(fallbackPrefix, r.Seq), nil); err != nil {
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

func hasDocuments(v View, prefix string) (bool, error) {
	for _, err := range v.Documents(prefix, "") {
		return err == nil, err
	}
	return false, nil
}

// Check tries an edit without recording it. It returns an error if replay would get stuck at an amended
// event, or earlier than without the edit.
func (e Edit) Check(ctx context.Context, s Store, o Options, features ...Feature) error {
	without, err := findStuck(ctx, s, o, nil, features)
	if err != nil {
		return err
	}
	with, err := findStuck(ctx, s, o, &e, features)
	if err != nil || with == nil {
		return err
	}
	before, err := FindAmendment(ctx, s, with.Record.Seq)
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
func findStuck(ctx context.Context, s Store, o Options, e *Edit, features []Feature) (*StuckError, error) {
	a, err := newApp(s, o.toReplay(), features...)
	if err != nil {
		return nil, err
	}
	a.edit = e
	err = a.open(ctx)
	if stuck, ok := errors.AsType[*StuckError](err); ok {
		return stuck, nil
	}
	return nil, err
}

// editOf returns the edit that amends one event.
func editOf(am Amendment) Edit {
	return Edit{First: am.Seq, Last: am.Seq, Reason: am.Reason, Time: am.Time,
		Amend: func(Record, *Amendment) (Amendment, bool, error) { return am, true, nil }}
}

// Amend records an amendment of one event. See [Edit.Write].
func Amend(ctx context.Context, s Store, am Amendment) error {
	err := ErrNoEvents
	if am.Seq > 0 {
		_, err = editOf(am).Write(ctx, s)
	}
	if errors.Is(err, ErrNoEvents) {
		r, findErr := Find(ctx, s, am.Seq)
		switch {
		case findErr != nil:
			return findErr
		case r.Type == amendedType:
			return fmt.Errorf("event %d is an amendment", am.Seq)
		}
		return fmt.Errorf("event %d was erased", am.Seq)
	}
	return err
}

// CheckAmendment tries an amendment of one event without recording it. See [Edit.Check].
func CheckAmendment(ctx context.Context, s Store, am Amendment, o Options, features ...Feature) error {
	if _, err := Find(ctx, s, am.Seq); err != nil {
		return err
	}
	am.Time = cmp.Or(am.Time, time.Now())
	return editOf(am).Check(ctx, s, o, features...)
}

// checkAmended returns errAmended if the states were built without the amendments that an event tells
// of. Fallbacks matter only to features that are stuck.
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
