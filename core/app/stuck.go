package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/petrock/petrock/core/strictjson"
)

// A StuckError is the error for an event that cannot be applied. [Open] returns it at startup. In a
// running process, commands of the event's feature return it until the event is amended or the process
// is restarted. Queries of the feature return it only if Stopped is set, or if a check or a worker asks.
type StuckError struct {
	Record  Record
	Program string  // name of the program, for the log commands
	Late    bool    // the event was written after this process started
	Stopped bool    // Apply panicked, so the state may be half changed
	Amended []int64 // earlier amended events, which may be the cause
	Err     error
}

// Error names the event, the cause and the remedies, one per line.
func (e *StuckError) Error() string {
	r := e.Record
	var text strings.Builder
	if e.Late {
		text.WriteString("the event log is newer than this process; restart it\n")
	}
	fmt.Fprintf(&text, "event %d of the log (%s, version %d, %s) ", r.Seq, r.Type, r.Version, r.Time.Format("2006-01-02 15:04:05"))
	if unreadable, ok := errors.AsType[*unreadableError](e.Err); ok {
		fmt.Fprintf(&text, "%v\n", unreadable)
		if unreadable.remedy != "" {
			fmt.Fprintln(&text, unreadable.remedy)
		}
	} else {
		fmt.Fprintf(&text, "cannot be applied: %v\n", e.Err)
	}
	if len(e.Amended) > 0 {
		fmt.Fprintf(&text, "amended before it: %v; if that is the cause, see %s log show %d and %[2]s log restore\n", e.Amended, e.Program, e.Amended[len(e.Amended)-1])
	}
	fmt.Fprintf(&text, `show it:   %s log show %d
remap it:  %[1]s log map %[2]d --type TYPE --input JSON --reason WHY
skip it:   %[1]s log skip %[2]d --reason WHY`, e.Program, r.Seq)
	return text.String()
}

// state returns the state of the feature: stale if its queries are answered, otherwise stopped.
func (e *StuckError) state() string {
	if e.Stopped {
		return "stopped"
	}
	return "stale"
}

// Unwrap returns the cause.
func (e *StuckError) Unwrap() error { return e.Err }

// stuckAt returns the error for an event that cannot be applied.
func (a *App) stuckAt(r Record, err error) *StuckError {
	stuck := &StuckError{Record: r, Program: a.o.Program, Late: a.opened.Load(), Err: err}
	for seq := range a.amendments {
		if seq < r.Seq {
			stuck.Amended = append(stuck.Amended, seq)
		}
	}
	slices.Sort(stuck.Amended)
	const maxAmended = 10
	stuck.Amended = stuck.Amended[max(0, len(stuck.Amended)-maxAmended):]
	return stuck
}

// An unreadableError is the error for an event that this build cannot read.
type unreadableError struct {
	text   string // continues "event 17 "
	remedy string // change of the code; may be empty
	err    error  // may be nil
}

func (e *unreadableError) Error() string {
	if e.err != nil {
		return e.text + ": " + e.err.Error()
	}
	return e.text
}

func (e *unreadableError) Unwrap() error { return e.err }

// mismatch returns the error for data that does not match the type of its command.
func (t *commandType) mismatch(kind reflect.Type, err error) error {
	remedy := fmt.Sprintf("if %v changed: restore the fields that this version had", kind)
	if kind == t.kind {
		remedy = "if the command changed:  petrock generate version " + t.eventType
		if fields, ok := errors.AsType[*strictjson.TypeError](err); ok && fields.Path == "" && len(fields.Unknown) == 1 && len(fields.Missing) == 1 {
			remedy += " --rename " + fields.Unknown[0] + "=" + fields.Missing[0]
		}
	}
	return &unreadableError{"does not fit " + kind.String(), remedy, err}
}

const (
	ownFeature         = "app" // in the types of the log's own records
	amendedType        = ownFeature + "/amended"
	amendmentsDocument = "amendments" // the document with all amendments
)

// An Amendment changes how an event is read. The event itself stays in the log.
type Amendment struct {
	Seq     int64           `json:"seq"`
	Skip    bool            `json:"skip,omitempty"`    // ignore the event; otherwise read it with the fields below
	Type    string          `json:"type,omitempty"`    // such as posts/create
	Version int             `json:"version,omitempty"` // 0 means 1
	Data    json.RawMessage `json:"data,omitempty"`    // nil means the data of the record
	Reason  string          `json:"reason"`            // required, except by Erase
	Time    time.Time       `json:"time"`              // zero means now

	Erased bool   `json:"erased,omitempty"` // the event was erased; Skip is set too
	By     string `json:"by,omitempty"`     // who erased it
}

// Amend records an amendment, also in the log, so that running processes rebuild their states. An
// [App] of this process must not use the Store. The actor is that of [WithActor].
func Amend(ctx context.Context, s Store, am Amendment) error {
	if am.Reason == "" {
		return fmt.Errorf("amend event %d: a reason is required", am.Seq)
	}
	if am.Time.IsZero() {
		am.Time = time.Now()
	}
	am.Time = storable(am.Time)
	if am.Version == 0 && !am.Skip {
		am.Version = 1
	}
	return s.Write(ctx, func(tx Tx) error {
		r, last, err := findInTx(tx, am.Seq)
		if err != nil {
			return err
		}
		if r.Type == erasedType {
			return fmt.Errorf("event %d was erased", am.Seq)
		}
		if !am.Skip && am.Data == nil {
			am.Data = r.Data
		}
		if am.Skip {
			am.Type, am.Version, am.Data = "", 0, nil
		}
		return am.put(ctx, tx, last)
	})
}

// put adds an amendment to the document and to the log. last is the last event.
func (am Amendment) put(ctx context.Context, tx Tx, last int64) error {
	all, err := readAmendments(tx)
	if err != nil {
		return err
	}
	if before := all[am.Seq].Time; !am.Time.After(before) {
		am.Time = before.Add(time.Microsecond) // so that the later amendment has the later time
	}
	all[am.Seq] = am
	document, err := strictjson.Marshal(all)
	if err != nil {
		return err
	}
	data, err := strictjson.Marshal(am)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("%s-%d", amendmentsDocument, last+1)
	if err := tx.Append(Record{Event: Event{last + 1, id, am.Time, Actor(ctx)}, Type: amendedType, Version: 1, Data: data}); err != nil {
		return err
	}
	return tx.Put(amendmentsDocument, document)
}

// CheckAmendment tries an amendment without recording it. It returns an error if replay would get
// stuck at the amended event, or earlier than without the amendment.
func CheckAmendment(ctx context.Context, s Store, am Amendment, o Options, features ...Feature) error {
	without, err := findStuck(ctx, s, o, features)
	if err != nil {
		return err
	}
	if am.Time.IsZero() {
		am.Time = time.Now()
	}
	if am.Data == nil {
		r, err := Find(ctx, s, am.Seq)
		if err != nil {
			return err
		}
		am.Data = r.Data
	}
	am.Version = max(am.Version, 1)
	with, err := findStuck(ctx, amendedStore{s, am}, o, features)
	switch {
	case err != nil:
		return err
	case with == nil || without != nil && with.Record.Seq >= without.Record.Seq && with.Record.Seq != am.Seq:
		return nil
	}
	with.Amended = nil
	return fmt.Errorf("with this amendment, %w", with)
}

// findStuck returns the error at which replay gets stuck; nil if replay succeeds.
func findStuck(ctx context.Context, s Store, o Options, features []Feature) (*StuckError, error) {
	_, err := Open(ctx, s, o.toReplay(), features...)
	if stuck, ok := errors.AsType[*StuckError](err); ok {
		return stuck, nil
	}
	return nil, err
}

// An amendedStore has one more amendment.
type amendedStore struct {
	Store
	am Amendment
}

func (s amendedStore) Get(ctx context.Context, name string) ([]byte, error) {
	if name != amendmentsDocument {
		return s.Store.Get(ctx, name)
	}
	all, err := readAmendments(storeReader{ctx, s.Store})
	if err != nil {
		return nil, err
	}
	all[s.am.Seq] = s.am
	return strictjson.Marshal(all)
}

// Find returns an event of a store.
func Find(ctx context.Context, s Store, seq int64) (Record, error) {
	for r, err := range s.Records(ctx, seq-1) {
		if err != nil {
			return Record{}, fmt.Errorf("read the log: %w", err)
		}
		if r.Seq == seq {
			return r, nil
		}
		break
	}
	last, err := s.Last(ctx)
	if err != nil {
		return Record{}, fmt.Errorf("read the log: %w", err)
	}
	if last == 0 {
		return Record{}, fmt.Errorf("event %d does not exist; the log is empty", seq)
	}
	return Record{}, fmt.Errorf("event %d does not exist; the last event is %d", seq, last)
}

// findInTx returns a record, and the number of the last record.
func findInTx(tx Tx, seq int64) (found Record, last int64, err error) {
	for r, err := range tx.Records(seq - 1) {
		if err != nil {
			return found, 0, err
		}
		if r.Seq == seq {
			found = r
		}
		last = r.Seq
	}
	if found.Seq != seq || seq < 1 {
		return found, 0, fmt.Errorf("event %d does not exist", seq)
	}
	return found, last, nil
}

// Amendments returns the amendments of a store, by sequence number.
func Amendments(ctx context.Context, s Store) (map[int64]Amendment, error) {
	return readAmendments(storeReader{ctx, s})
}

func readAmendments(from interface{ Get(string) ([]byte, error) }) (map[int64]Amendment, error) {
	all := map[int64]Amendment{}
	document, err := from.Get(amendmentsDocument)
	if err != nil {
		return nil, fmt.Errorf("read the amendments: %w", err)
	}
	if document == nil {
		return all, nil
	}
	if err := json.Unmarshal(document, &all); err != nil {
		return nil, fmt.Errorf("read the amendments: %w", err)
	}
	return all, nil
}

// checkAmended returns errAmended if the states were built without the amendment in an event. If the
// amendment cannot be decoded, it marks all features as stuck.
func (a *App) checkAmended(d *decodedEvent) error {
	var am Amendment
	if err := json.Unmarshal(d.Data, &am); err != nil {
		for _, f := range a.features {
			if err := a.markStuck(d.Record, f, err, false); err != nil {
				return err
			}
		}
		return nil
	}
	known, ok := a.amendments[am.Seq]
	if !ok || known.Time.Before(am.Time) {
		return errAmended
	}
	return nil
}

// storable returns a time in the precision of the log, in UTC.
func storable(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond).Round(0) }
