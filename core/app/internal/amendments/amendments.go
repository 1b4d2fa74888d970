// Package amendments is the layout of the documents that amend the events of a log. Package app
// reads and writes them; stores use [Migrate].
package amendments

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/petrock/petrock/core/app/eventlog"
	"github.com/petrock/petrock/core/strictjson"
)

const (
	Prefix = "amendment/" // of the names of documents with an amendment, see [Name]

	// FallbackPrefix is that of documents with a fallback: an [eventlog.Payload] for builds that
	// cannot read an event.
	FallbackPrefix = "fallback/"

	IndexDocument = "amended"    // the document with the [Index]
	OldDocument   = "amendments" // the document with all amendments, of older builds
)

// Name returns the name of the document of an event. Names sort like the numbers of events.
func Name(prefix string, seq int64) string { return fmt.Sprintf("%s%019d", prefix, seq) }

// An Index identifies the amendments of a state, however many there are.
type Index struct {
	Record  int64    `json:"record"` // the last event of type app/amended
	Last    int64    `json:"last"`   // the last event that is amended
	Changes []Change `json:"changes"`
}

// A Change is an amendment of events from First on.
type Change struct {
	Record int64 `json:"record"` // the event of type app/amended
	First  int64 `json:"first"`
}

// ReadIndex returns the index in a view.
func ReadIndex(from interface{ Get(string) ([]byte, error) }) (x Index, err error) {
	document, err := from.Get(IndexDocument)
	if err == nil && document != nil {
		err = json.Unmarshal(document, &x)
	}
	if err != nil {
		return x, fmt.Errorf("read the amendments: %w", err)
	}
	return x, nil
}

// maxChanges is the number of changes in an index. If there are more, the oldest are combined, and
// snapshots from between them are not used.
const maxChanges = 100

// Add adds the change of the last record. It drops those that it includes.
func (x *Index) Add(first int64) {
	x.Changes = slices.DeleteFunc(x.Changes, func(c Change) bool { return c.First >= first })
	x.Changes = append(x.Changes, Change{x.Record, first})
	if n := len(x.Changes); n > maxChanges {
		x.Changes[1].First = x.Changes[0].First
		x.Changes = slices.Delete(x.Changes, 0, 1)
	}
}

// Hash returns a text that changes when an event up to seq is amended; empty without amendments of
// these.
func (x Index) Hash(seq int64) string {
	for _, c := range slices.Backward(x.Changes) {
		if c.First <= seq {
			return strconv.FormatInt(c.Record, 10)
		}
	}
	return ""
}

// Migrate converts the documents of a log of an older build. A store calls it in the transaction
// that changes the tables of an older build.
func Migrate(tx eventlog.Tx) error {
	old, err := tx.Get(OldDocument)
	if err != nil || old == nil {
		return err
	}
	last, err := tx.Last()
	if err != nil {
		return err
	}
	documents, err := Convert(old, last)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := tx.Put(d.Name, d.Value); err != nil {
			return err
		}
	}
	return tx.Put(OldDocument, nil)
}

// Convert returns the documents that replace the document with all amendments. last is the last
// event of the log.
func Convert(old []byte, last int64) ([]eventlog.Document, error) {
	all := map[int64]json.RawMessage{}
	if err := json.Unmarshal(old, &all); err != nil {
		return nil, fmt.Errorf("read the amendments: %w", err)
	}
	if len(all) == 0 {
		return nil, nil
	}
	var documents []eventlog.Document
	seqs := slices.Sorted(maps.Keys(all))
	for _, seq := range seqs {
		documents = append(documents, eventlog.Document{Name: Name(Prefix, seq), Value: all[seq]})
	}
	index := Index{Record: last, Last: seqs[len(seqs)-1]}
	index.Add(seqs[0])
	value, err := strictjson.Marshal(index)
	return append(documents, eventlog.Document{Name: IndexDocument, Value: value}), err
}
